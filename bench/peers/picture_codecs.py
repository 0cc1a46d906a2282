#!/usr/bin/env python3
"""Bits a pixel and PSNR (of RGB) of picture formats beside veldt pack's, on a folder of PNGs.

Usage: picture_codecs.py FOLDER OUT.json [VELDT STEPS]
Needs cjpeg, opj_compress, cwebp, avifenc and cjxl with their decoders (Debian: libjpeg-turbo-progs, libopenjp2-tools, webp,
libavif-bin, libjxl-tools), NumPy and Pillow. With VELDT, the command packs each picture at five sizes too.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
from PIL import Image

AT = (0.1, 0.25, 0.5, 1.0, 1.5)  # bits a pixel of the table

# Name: levels, the command that writes OUT, and the one that reads it into BACK (none: Pillow reads OUT).
FORMATS = {
    "JPEG": ((5, 10, 20, 40, 60, 75, 85, 92), "cjpeg -quality {q} -optimize -progressive -outfile {out}.jpg {ppm}", None, ".jpg"),
    "JPEG 2000": ((400, 200, 120, 80, 48, 32, 20, 12, 8), "opj_compress -i {png} -o {out}.jp2 -r {q} -I",
                  "opj_decompress -i {out}.jp2 -o {back}", ".jp2"),
    "WebP": ((1, 10, 25, 50, 70, 85, 95), "cwebp -m 6 -q {q} {png} -o {out}.webp", None, ".webp"),
    "AVIF": ((63, 55, 48, 40, 32, 24, 16, 10), "avifenc -s 2 -y 444 -d 8 --min {q} --max {q} -a tune=psnr {png} {out}.avif",
             "avifdec {out}.avif {back}", ".avif"),
    "JPEG XL": ((15, 9, 6, 4, 2.5, 1.5, 1, 0.6), "cjxl -d {q} -e 8 {png} {out}.jxl", "djxl {out}.jxl {back}", ".jxl"),
}


def run(command):
    subprocess.run(command.split(), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def psnr(a, b):
    difference = numpy.asarray(a, numpy.float64) - numpy.asarray(b, numpy.float64)
    return float(-10 * numpy.log10(numpy.mean(difference**2) / 255**2))


def main():
    folder, output = Path(sys.argv[1]), Path(sys.argv[2])
    formats = dict(FORMATS)
    if len(sys.argv) > 3:
        veldt, steps = sys.argv[3:5]
        formats["Veldt"] = (AT, f"{veldt} pack {{png}} -o {{out}}.vp --bpp {{q}} --steps {steps} --family photograph --quiet",
                            f"{veldt} unpack {{out}}.vp -o {{back}} --quiet", ".vp")
    curves = {name: {} for name in formats}
    with tempfile.TemporaryDirectory() as made:
        names = {"png": f"{made}/in.png", "ppm": f"{made}/in.ppm", "out": f"{made}/out", "back": f"{made}/back.png"}
        for path in sorted(folder.glob("*.png")):
            picture = Image.open(path).convert("RGB")
            picture.save(names["png"])
            picture.save(names["ppm"])
            for name, (levels, write, read, ending) in formats.items():
                points = []
                for q in levels:
                    run(write.format(q=q, **names))
                    if read:
                        run(read.format(**names))
                    back = Image.open(names["back"] if read else names["out"] + ending).convert("RGB")
                    size = Path(names["out"] + ending).stat().st_size
                    points.append((8 * size / (picture.width * picture.height), psnr(picture, back)))
                curves[name][path.stem] = sorted(points)
            print(path.stem, flush=True)
            output.write_text(json.dumps(curves))
    print("mean PSNR at bits a pixel of", *AT)
    for name, pictures in curves.items():
        means = [numpy.mean([numpy.interp(numpy.log(at), numpy.log([b for b, _ in c]), [p for _, p in c],
                                          left=numpy.nan, right=numpy.nan)
                             for c in pictures.values()]) for at in AT]
        print(f"{name:10}", *(f"{m:6.2f}" for m in means))  # nan: not every picture has files around it


if __name__ == "__main__":
    main()
