#!/usr/bin/env python3
"""Makes the picture and the table of docs/redraw.md: six kinds of pictures beside Lanczos3 and the truth.

usage: show.py KODAK [--veldt PROGRAM] [--output FOLDER] [--kinds a,b]

KODAK holds kodim04.png and kodim08.png. Each small picture is made here, fitted with default flags and drawn at the
size of its truth; the parts that are shown go into FOLDER/redraw.png, whole drawings beside it. Prints the table.
"""

import argparse
import math
import subprocess
import sys
from pathlib import Path

import numpy
from PIL import Image, ImageDraw, ImageFont

from arithmetic import area_average

HERE = Path(__file__).resolve().parent
ASSETS = HERE.parent.parent / "assets"
TILE = 200
MARGIN = 6
SERIF = "/usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf"
POEM = """Between the dots that make
a picture lies what no dot says.
A page of words, made small,
keeps every letter's weight:
draw it again and read."""
SPRITE = """
......kkkk......
....kkyyyykk....
...kyyyyyyyyk...
..kyywyyyywyyk..
..kywkwyywkwyk..
.kyywwwyywwwyyk.
.kyyywyyyywyyyk.
.kyyyyyyyyyyyyk.
.koyyrrrrrryyok.
.kooyyrrrryyook.
..kooyyyyyyook..
..kooooyyooook..
...kooooooook...
....kkoooookk...
......kkkkk.....
................
"""
COLOURS = {".": (0, 0, 0, 0), "k": (40, 24, 16, 255), "y": (250, 206, 60, 255), "o": (222, 140, 40, 255),
           "w": (255, 255, 255, 255), "r": (200, 40, 60, 255)}


def photograph(path, left, top, side):
    return Image.open(path).convert("RGB").crop((left, top, left + side, top + side))


def icon():
    """A letter in a round window, drawn at eight times its size."""
    side = 192 * 8
    picture = Image.new("RGB", (side, side), "white")
    pen = ImageDraw.Draw(picture)
    at = lambda *parts: [side * part for part in parts]
    pen.rounded_rectangle(at(0.06, 0.06, 0.94, 0.94), radius=side * 0.2, fill=(38, 108, 196))
    pen.ellipse(at(0.62, 0.12, 0.86, 0.36), fill=(255, 196, 60))
    pen.polygon(at(0.06, 0.80, 0.36, 0.40, 0.56, 0.66, 0.68, 0.52, 0.94, 0.82, 0.94, 0.84, 0.06, 0.84), fill=(28, 66, 120))
    pen.rounded_rectangle(at(0.06, 0.74, 0.94, 0.94), radius=side * 0.12, fill=(245, 248, 252))
    pen.line(at(0.2, 0.84, 0.8, 0.84), fill=(38, 108, 196), width=side // 28)
    return picture.resize((192, 192), Image.Resampling.BOX)


def page():
    side = 512 * 4
    picture = Image.new("L", (side, side), 255)
    ImageDraw.Draw(picture).multiline_text(
        (side * 0.05, side * 0.18), POEM, fill=0, font=ImageFont.truetype(SERIF, side // 17), spacing=side // 28)
    return picture.resize((512, 512), Image.Resampling.BOX)


def sprite():
    rows = SPRITE.strip().split("\n")
    return Image.fromarray(numpy.array([[COLOURS[c] for c in row] for row in rows], numpy.uint8), "RGBA")


def shrunk(truth, factor):
    return area_average(truth, truth.width // factor, truth.height // factor)


def subjects(kodak):
    """name, source, truth, corner of the part that is shown."""
    house = photograph(kodak / "kodim08.png", 128, 0, 512)
    face = photograph(kodak / "kodim04.png", 205, 215, 256)
    large = sprite()
    return {
        "photograph": (shrunk(house, 4), house, (200, 90)),
        "portrait": (shrunk(face, 4), face, (20, 40)),
        "icon": (shrunk(icon(), 4), icon(), None),
        "text": (shrunk(page(), 4), page(), (20, 100)),
        "pixel art": (large, large.resize((192, 192), Image.Resampling.NEAREST), None),
        "two tones": (Image.open(ASSETS / "cub.png"), Image.open(ASSETS / "cub_1024.png").convert("L"), (380, 340)),
    }


def drawn(veldt, source, truth, folder, name):
    name = name.replace(" ", "_")
    paths = [str(folder / f"{name}{ending}") for ending in ("_small.png", ".safetensors", ".png")]
    source.save(paths[0])
    size = f"{truth.width}x{truth.height}"
    subprocess.run([veldt, "fit", paths[0], "-o", paths[1], "--quiet"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([veldt, "render", paths[1], "-o", paths[2], "--size", size, "--quiet"], check=True,
                   stdout=subprocess.DEVNULL)
    return Image.open(paths[2])


def over_white(picture):
    if picture.mode != "RGBA":
        return picture.convert("RGB")
    ground = Image.new("RGBA", picture.size, "white")
    ground.alpha_composite(picture)
    return ground.convert("RGB")


def quality(picture, truth):
    error = numpy.mean((numpy.asarray(over_white(picture), float) - numpy.asarray(over_white(truth), float)) ** 2)
    return math.inf if error == 0 else 10 * math.log10(255**2 / error)


def part(picture, corner):
    picture = over_white(picture)
    if corner is None:
        left, top = (picture.width - TILE) // 2, (picture.height - TILE) // 2
        tile = Image.new("RGB", (TILE, TILE), "white")
        tile.paste(picture, (-left, -top))
        return tile
    left, top = (min(at, side - TILE) for at, side in zip(corner, picture.size))
    return picture.crop((left, top, left + TILE, top + TILE))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kodak", type=Path)
    parser.add_argument("--veldt", default=str(HERE.parent.parent / "build/release/bin/veldt"))
    parser.add_argument("--output", type=Path, default=Path("out/redraw"))
    parser.add_argument("--kinds", help="only these")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    chosen = {name: what for name, what in subjects(arguments.kodak).items()
              if not arguments.kinds or name in arguments.kinds.split(",")}
    sheet = Image.new("RGB", (4 * TILE + 5 * MARGIN, len(chosen) * (TILE + MARGIN) + MARGIN), "white")
    print("| kind | from | to | nearest | Lanczos3 | Veldt |\n| --- | --- | --- | --- | --- | --- |")
    for row, (name, (source, truth, corner)) in enumerate(chosen.items()):
        plain_source = source if source.mode in ("L", "RGB", "RGBA") else source.convert("L")
        nearest = plain_source.resize(truth.size, Image.Resampling.NEAREST)
        lanczos = plain_source.resize(truth.size, Image.Resampling.LANCZOS)
        veldt = drawn(arguments.veldt, source, truth, arguments.output, name)
        for column, picture in enumerate((nearest, lanczos, veldt, truth)):
            place = (MARGIN + column * (TILE + MARGIN), MARGIN + row * (TILE + MARGIN))
            sheet.paste(part(picture, corner), place)
        figures = " | ".join("exact" if math.isinf(q) else f"{q:.2f} dB"
                             for q in (quality(p, truth) for p in (nearest, lanczos, veldt)))
        print(f"| {name} | {source.width} x {source.height} | {truth.width} x {truth.height} | {figures} |", flush=True)
    sheet.save(arguments.output / "redraw.png", optimize=True)


if __name__ == "__main__":
    sys.exit(main())
