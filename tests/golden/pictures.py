#!/usr/bin/env python3
"""Tiny JPEGs and WebPs of every kind that Veldt reads, and what Pillow makes of them.

usage: pictures.py FOLDER      (needs numpy and pillow; writes FOLDER/*.jpg, *.webp and pictures.json)

pictures.json maps each file name to width, height, channels and the 8-bit levels, in hexadecimal, after the EXIF
orientation is applied and inks are turned into colours.
"""
import io
import json
import pathlib
import sys

import numpy as np
from PIL import Image, ImageOps

WIDTH, HEIGHT = 20, 13


def picture(channels):
    """Smooth, so that JPEG keeps it, and without any symmetry."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    planes = [255 * x / WIDTH, 255 * y / HEIGHT, 255 * (x * y) / (WIDTH * HEIGHT), 255 - 200 * (x + y) / (WIDTH + HEIGHT)]
    return np.stack(planes[:channels], axis=-1).round().astype(np.uint8)


def image(mode):
    channels = {"L": 1, "RGB": 3, "RGBA": 4, "CMYK": 4}[mode]
    return Image.fromarray(picture(channels).squeeze(), mode)


def jpeg(mode, **options):
    out = io.BytesIO()
    image(mode).save(out, "JPEG", quality=90, **options)
    return out.getvalue()


def with_orientation(value):
    exif = Image.Exif()
    exif[0x0112] = value
    return jpeg("RGB", exif=exif)


def without_adobe(data):
    """Inks as no program of Adobe's stores them: 0 is paper."""
    at = data.index(b"\xff\xee")
    return data[:at] + data[at + 2 + int.from_bytes(data[at + 2:at + 4], "big"):]


def as_ycck(data):
    """The marker's last byte says what the four components are: 2 is YCCK."""
    at = data.index(b"Adobe") + 11
    return data[:at] + b"\x02" + data[at + 1:]


def webp(mode, **options):
    out = io.BytesIO()
    image(mode).save(out, "WEBP", **options)
    return out.getvalue()


def animation():
    out = io.BytesIO()
    image("RGB").save(out, "WEBP", save_all=True, append_images=[image("RGB").rotate(180)], lossless=True)
    return out.getvalue()


def levels(name, data):
    seen = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    if name == "inks_plain.jpg":  # Pillow takes Adobe's inversion for granted
        seen = Image.fromarray(255 - np.asarray(seen), "CMYK")
    if seen.mode == "CMYK":
        seen = seen.convert("RGB")
    values = np.asarray(seen)
    return {"width": seen.width, "height": seen.height, "channels": 1 if values.ndim == 2 else values.shape[2],
            "levels": values.tobytes().hex()}


def main(folder):
    files = {
        "grey.jpg": jpeg("L"),
        "rgb_444.jpg": jpeg("RGB", subsampling="4:4:4"),
        "rgb_420.jpg": jpeg("RGB", subsampling="4:2:0"),
        "rgb_kept.jpg": jpeg("RGB", keep_rgb=True),
        "progressive.jpg": jpeg("RGB", progressive=True),
        "inks_adobe.jpg": jpeg("CMYK"),
        "inks_plain.jpg": without_adobe(jpeg("CMYK")),
        "inks_ycck.jpg": as_ycck(jpeg("CMYK")),
        **{f"orientation_{i}.jpg": with_orientation(i) for i in range(1, 9)},
        "lossless.webp": webp("RGB", lossless=True),
        "lossless_alpha.webp": webp("RGBA", lossless=True, exact=True),
        "lossy.webp": webp("RGB", quality=80),
        "lossy_alpha.webp": webp("RGBA", quality=80),
    }
    known = {name: levels(name, data) for name, data in files.items()}
    files["animation.webp"] = animation()
    for name, data in files.items():
        (pathlib.Path(folder) / name).write_bytes(data)
    with open(pathlib.Path(folder) / "pictures.json", "w") as f:
        json.dump(known, f, indent=0)
        f.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
