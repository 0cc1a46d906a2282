#!/usr/bin/env python3
"""Makes the pictures of bench/redraw: truths, and inputs shrunk from them.

usage: make_set.py SET [--sources DIR] [--data DIR] [--kinds a,b]

SET is a folder outside of the repository. It gets truth/KIND/NAME.png (2 to 8 times the input),
input/FILTER/KIND/NAME.png for the filters area, bicubic, lanczos and point, list.csv (origin, terms, SHA-256) and
sheet.png to look at. --sources keeps the packages of Debian that are loaded and unpacked, never installed; --data has
kodak/ and pictures/. The same versions of the packages, librsvg and FreeType give the same pictures.
"""

import argparse
import csv
import hashlib
from pathlib import Path

from PIL import Image, ImageDraw

from arithmetic import area_average, indexed, two_tones
from pictures import KINDS, QUICK, all_pictures
from sources import Sources, fail

REPOSITORY = Path(__file__).resolve().parents[2]
COLUMNS = ("kind", "name", "width", "height", "factor", "filters", "quick", "origin", "truth_sha256", "input_sha256")
CELL, LABEL, ACROSS = 176, 14, 8  # of the sheet
MOST_COLOURS = 256


def shrunk(truth, width, height, how):
    """How programs make pictures small. Points are taken in the middle of a pixel, between the samples there."""
    if how == "area":
        return area_average(truth, width, height)
    if how == "point":
        return truth.transform(
            (width, height),
            Image.Transform.AFFINE,
            (truth.width / width, 0, 0, 0, truth.height / height, 0),
            Image.Resampling.BILINEAR,
        )
    filters = {"bicubic": Image.Resampling.BICUBIC, "lanczos": Image.Resampling.LANCZOS}
    return truth.resize((width, height), filters[how])


def as_kept(kind, picture):
    """Two-tone pictures have one bit, pixel art its palette."""
    if kind == "two-tone":
        return two_tones(picture)
    if kind == "pixel" and picture.mode == "RGB" and picture.getcolors(MOST_COLOURS):
        return indexed(picture)
    return picture


def write(path, picture):
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.save(path)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def add(folder, kind, name, factor, origin, truth):
    """Writes the truth and its inputs. Returns the row of list.csv."""
    if truth.width % factor or truth.height % factor:
        fail(f"{name}: {truth.width} x {truth.height} is no multiple of {factor}", "cut or shrink its truth")
    width, height = truth.width // factor, truth.height // factor
    hashes = [write(folder / f"truth/{kind}/{name}.png", truth)]
    filters = ("area",) if kind == "pixel" else ("area", "bicubic", "lanczos", "point")
    for how in filters:
        source = as_kept(kind, shrunk(truth, width, height, how))
        hashes.append(write(folder / f"input/{how}/{kind}/{name}.png", source))
    row = (kind, name, width, height, factor, " ".join(filters), int(name in QUICK), origin, hashes[0], hashes[1])
    return dict(zip(COLUMNS, map(str, row)))


def thumbnail(path):
    """The input, larger in squares, alpha over chequers."""
    picture = Image.open(path).convert("RGBA")
    times = min(4, CELL / max(picture.size))
    size = [max(1, round(side * (int(times) or times))) for side in picture.size]
    chequers = Image.new("RGBA", size, "#ffffff")
    for y in range(0, size[1], 8):
        for x in range(y % 16, size[0], 16):
            chequers.paste("#c8c8c8", (x, y, x + 8, y + 8))
    chequers.alpha_composite(picture.resize(size, Image.Resampling.NEAREST if times >= 1 else Image.Resampling.BOX))
    return chequers.convert("RGB")


def sheet(folder, listed):
    rows = -(-len(listed) // ACROSS)
    page = Image.new("RGB", (ACROSS * (CELL + 4), rows * (CELL + LABEL + 4)), "#808080")
    draw = ImageDraw.Draw(page)
    for i, row in enumerate(listed):
        x, y = i % ACROSS * (CELL + 4), i // ACROSS * (CELL + LABEL + 4)
        page.paste(thumbnail(folder / f"input/area/{row['kind']}/{row['name']}.png"), (x, y))
        draw.text((x + 2, y + CELL), f"{row['kind']}: {row['name']} {row['width']}x{row['height']}", fill="white")
    return page


def kept(path, kinds):
    """What the list has of other kinds."""
    if not path.exists():
        return []
    with open(path, newline="") as file:
        return [row for row in csv.DictReader(file) if row["kind"] not in kinds]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", metavar="SET", type=Path)
    parser.add_argument("--sources", type=Path, help="SET/sources by default")
    parser.add_argument("--data", type=Path, default=REPOSITORY.parent / "shared/data")
    parser.add_argument("--kinds", default=",".join(KINDS), help="make these again and keep the others")
    options = parser.parse_args()
    folder, kinds = options.set.resolve(), options.kinds.split(",")
    if folder.is_relative_to(REPOSITORY):
        fail(f"{folder} is inside the repository", "name a folder outside: these pictures have terms of their own")
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        fail(f"there is no kind {', '.join(unknown)}", f"take some of {','.join(KINDS)}")
    listed = kept(folder / "list.csv", kinds)
    sources = Sources(options.sources or folder / "sources", options.data)
    for kind, name, factor, origin, truth in all_pictures(sources, kinds):
        listed.append(add(folder, kind, name, factor, origin, truth))
        print(f"{kind}: {name}", flush=True)
    listed.sort(key=lambda row: KINDS.index(row["kind"]))
    with open(folder / "list.csv", "w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        table.writerows(listed)
    sheet(folder, listed).save(folder / "sheet.png")
    counts = [f"{sum(row['kind'] == kind for row in listed)} {kind}" for kind in KINDS]
    print(f"{len(listed)} pictures: {', '.join(counts)}; look at {folder / 'sheet.png'}")


main()
