#!/usr/bin/env python3
"""Makes the drawings that the prior learns from beside photographs: text, lines, shapes, icons, line art.

    drawings.py FOLDER [--count 3000] [--size 192] [--seed 0] [--shaded 0] [--fonts DIR ...] [--icons DIR ...]
                [--themed 0.5] [--two-tone]

Needs Pillow and numpy, and for --icons rsvg-convert. A drawing is a PNG, drawn larger and shrunk by the mean,
so that its pixels are what a pixel is to the prior: the mean of the ground it covers. It is grey, or has the
colours of the icons on it. The same arguments, fonts and icons give the same drawings.
"""
import argparse
import functools
import io
import math
import multiprocessing
import random
import subprocess
from pathlib import Path

import numpy
from PIL import Image, ImageDraw, ImageFont

SUPERSAMPLING = 4
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SIGNS = LETTERS + LETTERS.lower() * 2 + "0123456789" + ".,:;!?()-+&%@/='\"#*"


class Drawing:
    """A square canvas and the random choices that fill it."""

    def __init__(self, rng, size, fonts, two_tone=False):
        self.rng, self.fonts, self.two_tone = rng, fonts, two_tone
        self.side = size * SUPERSAMPLING
        self.ground = rng.choice([0, 255] if two_tone else [255, 255, 255, 0, rng.randrange(256)])
        self.image = Image.new("L", (self.side, self.side), self.ground)
        self.pen = ImageDraw.Draw(self.image)

    def tone(self, against=None):
        """A level, black and white more often than others; if wanted one that can be told from another."""
        level = self.rng.choice([0, 255] if self.two_tone else [0, 255, self.rng.randrange(256)])
        if against is not None and abs(level - against) < 60:
            level = 0 if against > 127 else 255
        return level

    def point(self, beyond=0.0):
        margin = int(self.side * beyond)
        return tuple(self.rng.randrange(-margin, self.side + margin) for _ in range(2))

    def box(self, least, most):
        """A rectangle with sides from least to most pixels, perhaps in part outside."""
        width, height = (int(self.rng.uniform(least, most) * SUPERSAMPLING) for _ in range(2))
        x = self.rng.randrange(-width // 3, max(1, self.side - width // 3))
        y = self.rng.randrange(-height // 3, max(1, self.side - height // 3))
        return [x, y, x + width, y + height]

    def font(self, pixels):
        return ImageFont.truetype(self.rng.choice(self.fonts), max(8, int(pixels * SUPERSAMPLING)))

    def words(self, count):
        text = []
        for _ in range(count):
            length = self.rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 10])
            text.append("".join(self.rng.choice(SIGNS) for _ in range(length)))
        return " ".join(text)


def text(d, box=None):
    """Lines of random words in one font; most of them in sizes that are still read at a quarter."""
    rng, whole = d.rng, [0, 0, d.side, d.side]
    x0, y0, x1, y1 = box or whole
    size = math.exp(rng.uniform(math.log(14), math.log(90)))
    corner = (min(max(x0, 0), d.side - 1), min(max(y0, 0), d.side - 1))
    font, tone = d.font(size), d.tone(against=d.image.getpixel(corner))
    step = size * SUPERSAMPLING * rng.uniform(1.05, 1.5)
    indent = 0 if box else -rng.uniform(0, size) * SUPERSAMPLING
    y = y0 + (0 if box else -rng.uniform(0, step))
    patch = Image.new("L", (max(1, x1 - x0), max(1, y1 - y0)), 0)
    pen = ImageDraw.Draw(patch)
    while y < y1:
        pen.text((indent, y - y0), d.words(2 + int(d.side / size / 12)), fill=255, font=font)
        y += step
    d.image.paste(tone, (x0, y0), patch)


def shapes(d):
    rng = d.rng
    for _ in range(rng.randrange(2, 9)):
        kind, box, tone = rng.randrange(5), d.box(8, 200), d.tone()
        if kind == 0:
            d.pen.ellipse(box, fill=tone)
        elif kind == 1:
            d.pen.rectangle(box, fill=tone)
        elif kind == 2:
            d.pen.polygon([d.point() for _ in range(rng.choice([3, 3, 4, 5]))], fill=tone)
        elif kind == 3:
            d.pen.ellipse(box, outline=tone, width=rng.randrange(SUPERSAMPLING, 10 * SUPERSAMPLING))
        else:
            radius = min(box[2] - box[0], box[3] - box[1]) // rng.randrange(2, 6)
            d.pen.rounded_rectangle(box, radius=radius, fill=tone)


def lines(d):
    rng, tone = d.rng, d.tone(against=d.ground)
    for _ in range(rng.randrange(3, 12)):
        width = max(1, int(SUPERSAMPLING * math.exp(rng.uniform(0, math.log(12)))))
        if rng.random() < 0.5:
            d.pen.line([d.point() for _ in range(rng.randrange(2, 5))], fill=tone, width=width, joint="curve")
        else:
            start = rng.randrange(360)
            d.pen.arc(d.box(30, 300), start, start + rng.randrange(60, 300), fill=tone, width=width)


def curve(d, width, tone):
    """A cubic Bezier curve with round ends whose width swells and shrinks, as a pen's does."""
    ends = [d.point(0.1) for _ in range(4)]
    swell, steps = d.rng.uniform(0, 0.6), 160
    for i in range(steps + 1):
        t = i / steps
        weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
        x, y = (sum(w * p[axis] for w, p in zip(weights, ends)) for axis in (0, 1))
        r = width / 2 * (1 - swell * abs(2 * t - 1))
        d.pen.ellipse([x - r, y - r, x + r, y + r], fill=tone)
        if i:
            d.pen.line([before, (x, y)], fill=tone, width=max(1, round(2 * r)))
        before = (x, y)


def line_art(d):
    tone = d.tone(against=d.ground)
    for _ in range(d.rng.randrange(4, 14)):
        curve(d, SUPERSAMPLING * math.exp(d.rng.uniform(0, math.log(9))), tone)


def icons(d):
    """A grid of small signs: a plate, a figure on it, sometimes a letter, in few tones."""
    rng, count = d.rng, d.rng.choice([1, 2, 2, 3])
    cell = d.side // count
    for row in range(count):
        for column in range(count):
            margin = cell * rng.uniform(0.02, 0.12)
            x, y, r = column * cell + cell / 2, row * cell + cell / 2, cell / 2 - margin
            plate, under = d.tone(), d.ground
            kind = rng.randrange(4)
            if kind == 0:
                d.pen.ellipse([x - r, y - r, x + r, y + r], fill=plate)
                under = plate
            elif kind == 1:
                radius = r * rng.uniform(0.1, 0.6)
                d.pen.rounded_rectangle([x - r, y - r, x + r, y + r], radius=radius, fill=plate)
                under = plate
            for _ in range(rng.randrange(1, 4)):
                figure(d, x, y, r * rng.uniform(0.3, 0.85), d.tone(against=under))


def figure(d, x, y, r, tone):
    rng, kind = d.rng, d.rng.randrange(7)
    width = max(SUPERSAMPLING, int(r * rng.uniform(0.08, 0.4)))
    turn = rng.choice([0, 0, math.pi / 4, rng.uniform(0, 2 * math.pi)])
    ray = lambda angle, length: (x + length * math.cos(angle + turn), y + length * math.sin(angle + turn))
    if kind == 0:
        corners = rng.choice([3, 3, 4, 5, 6])
        d.pen.polygon([ray(2 * math.pi * i / corners, r) for i in range(corners)], fill=tone)
    elif kind == 1:
        points, inner = rng.choice([4, 5, 6, 8]), r * rng.uniform(0.35, 0.7)
        corners = [ray(math.pi * i / points, r if i % 2 else inner) for i in range(2 * points)]
        d.pen.polygon(corners, fill=tone)
    elif kind == 2:
        d.pen.ellipse([x - r, y - r, x + r, y + r], outline=tone, width=width)
    elif kind == 3:
        for angle in (0, math.pi / 2):
            d.pen.line([ray(angle, r), ray(angle + math.pi, r)], fill=tone, width=width)
    elif kind == 4:
        tip = ray(0, r)
        for angle in (2.4, -2.4):
            d.pen.line([tip, ray(angle, r)], fill=tone, width=width, joint="curve")
        d.pen.line([tip, ray(math.pi, r)], fill=tone, width=width)
    elif kind == 5:
        for i in range(3):
            offset = (i - 1) * r * 0.8
            d.pen.rectangle([x - r, y + offset - width / 2, x + r, y + offset + width / 2], fill=tone)
    else:
        font = ImageFont.truetype(rng.choice(d.fonts), max(8, int(1.6 * r)))
        d.pen.text((x, y), rng.choice(SIGNS), fill=tone, font=font, anchor="mm")


def screen(d):
    """Windows, buttons and fields with text in them."""
    for _ in range(d.rng.randrange(2, 6)):
        box, fill = d.box(40, 180), d.tone()
        d.pen.rounded_rectangle(box, radius=SUPERSAMPLING * d.rng.choice([0, 0, 4, 8]), fill=fill,
                                outline=d.tone(), width=SUPERSAMPLING * d.rng.choice([0, 1, 1, 2]))
        inner = 4 * SUPERSAMPLING
        x0, y0, x1, y1 = box[0] + inner, box[1] + inner, box[2] - inner, box[3] - inner
        if x1 > x0 and y1 > y0 and x0 < d.side and y0 < d.side:
            text(d, [x0, y0, x1, y1])


def mixed(d):
    shapes(d)
    lines(d)
    text(d)


KINDS = [text] * 5 + [shapes, lines, line_art, line_art, icons, icons, icons, screen, mixed]


def shade(rng, size):
    """Factors that fall along a line or away from a point, as on what is lit from a side."""
    y, x = numpy.mgrid[0:size, 0:size].astype(numpy.float32) / size
    if rng.random() < 0.5:
        angle = rng.uniform(0, 2 * math.pi)
        along = (x - 0.5) * math.cos(angle) + (y - 0.5) * math.sin(angle) + 0.5
    else:
        along = numpy.hypot(x - rng.random(), y - rng.random())
    return 1 - rng.uniform(0.1, 0.7) * numpy.abs(1 - along * rng.uniform(1, 4) % 2)


def squares_mean(image, size):
    levels = numpy.asarray(image, numpy.float32)
    times = levels.shape[0] // size
    return levels.reshape(size, times, size, times, -1).mean((1, 3))


def draw(rng, size, fonts, shaded, two_tone):
    d = Drawing(rng, size, fonts, two_tone)
    rng.choice(KINDS)(d)
    image = d.image
    if rng.random() < 0.25:
        image = image.rotate(rng.uniform(-45, 45), Image.Resampling.BICUBIC, fillcolor=d.ground)
    levels = squares_mean(image, size)
    if shaded > 0 and rng.random() < shaded:
        levels *= shade(rng, size)[..., None]
    return levels


def rendered(file, side):
    """An icon, RGBA, centred on a clear square. None for what librsvg cannot read."""
    command = ["rsvg-convert", "-a", "-w", str(side), "-h", str(side), str(file)]
    found = subprocess.run(command, capture_output=True)
    if found.returncode or not found.stdout:
        return None
    icon = Image.open(io.BytesIO(found.stdout)).convert("RGBA")
    square = Image.new("RGBA", (side, side))
    square.paste(icon, ((side - icon.width) // 2, (side - icon.height) // 2))
    return square


def ground_for_icons(rng, side):
    """One colour, mostly white; sometimes two that pass into each other."""
    any_colour = lambda: tuple(rng.randrange(256) for _ in range(3))
    colour = lambda: rng.choice([(255,) * 3, (255,) * 3, (0,) * 3, any_colour()])
    flat = Image.new("RGBA", (side, side), (*colour(), 255))
    if rng.random() < 0.85:
        return flat
    fall = Image.linear_gradient("L").rotate(rng.choice([0, 90, 180, 270])).resize((side, side))
    return Image.composite(Image.new("RGBA", (side, side), (*colour(), 255)), flat, fall)


def themed(rng, size, themes, two_tone):
    """Icons of all themes side by side, or a part of a large one. Two-tone they are silhouettes."""
    times = 2
    side, cell = size * times, int(math.exp(rng.uniform(math.log(48), math.log(320)))) * times
    image = ground_for_icons(rng, side)
    ink = rng.choice(["black", "white"])
    if two_tone:
        image.paste("white" if ink == "black" else "black", (0, 0, side, side))
    first = [-rng.randrange(max(cell - side, cell // 8)) for _ in range(2)]
    for y in range(first[1], side, cell):
        for x in range(first[0], side, cell):
            icon = rendered(rng.choice(rng.choice(themes)), cell)
            if icon is None:
                continue
            if two_tone:
                shape = icon.getchannel("A").point(lambda a: 3 * a - 256)
                icon.paste(ink, (0, 0, cell, cell))
                icon.putalpha(shape)
            image.alpha_composite(icon, (max(0, x), max(0, y)), (max(0, -x), max(0, -y)))
    return squares_mean(image.convert("L" if two_tone else "RGB"), size)


def files_in(folder, ending):
    return sorted(str(file) for file in folder.rglob(ending) if not file.is_symlink())


def make(arguments, fonts, themes, i):
    rng = random.Random(f"{arguments.seed}/{i}")
    if themes and rng.random() < arguments.themed:
        levels = themed(rng, arguments.size, themes, arguments.two_tone)
    else:
        levels = draw(rng, arguments.size, fonts, arguments.shaded, arguments.two_tone)
    picture = numpy.floor(levels + 0.5).astype(numpy.uint8)
    Image.fromarray(picture.squeeze()).save(arguments.folder / f"d{i:05}.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--size", type=int, default=192, help="pixels of a side")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shaded", type=float, default=0, help="share of drawings whose light varies")
    parser.add_argument("--fonts", type=Path, nargs="*", default=[Path("/usr/share/fonts/truetype/dejavu")],
                        help="folders with .ttf or .otf files")
    parser.add_argument("--icons", type=Path, nargs="*", default=[],
                        help="folders with .svg files, one for each theme")
    parser.add_argument("--themed", type=float, default=0.5, help="share of drawings of such icons")
    parser.add_argument("--two-tone", action="store_true", help="of black and white alone")
    arguments = parser.parse_args()
    fonts = [font for folder in arguments.fonts for font in files_in(folder, "*.[to]tf")]
    themes = [files_in(folder, "*.svg") for folder in arguments.icons]
    if not fonts:
        parser.error(f"no .ttf file in {', '.join(map(str, arguments.fonts))}: give a folder with fonts")
    for folder, icons in zip(arguments.icons, themes):
        if not icons:
            parser.error(f"no .svg file in {folder}: give a folder with icons")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with multiprocessing.Pool() as pool:
        pool.map(functools.partial(make, arguments, fonts, themes), range(arguments.count), chunksize=8)


if __name__ == "__main__":
    main()
