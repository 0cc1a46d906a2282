"""What bench/redraw computes: area averages, PSNR, SSIM, differing pixels, flats."""

import math

import numpy as np
from PIL import Image

MOST_DB = 99.0  # of equal pictures, so that means stay finite
WINDOW, SIGMA = 11, 1.5  # of SSIM (Wang, Bovik, Sheikh, Simoncelli 2004)
C1, C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
STRIP = 256  # rows of windows at once
WHITE, BLACK = 255.0, 0.0


def averages(values, size, axis):
    """The mean over each of `size` equal parts of the axis, border samples by the share that lies inside."""
    n = values.shape[axis]
    values = np.moveaxis(values, axis, 0)
    if n % size == 0:
        found = values.reshape(size, n // size, *values.shape[1:]).mean(1)
    else:
        total = np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])
        edges = np.arange(size + 1) * n / size
        low = np.minimum(edges.astype(int), n - 1)
        part = (edges - low).reshape(-1, *[1] * (values.ndim - 1))
        found = np.diff(total[low] + part * (total[low + 1] - total[low]), axis=0) * (size / n)
    return np.moveaxis(found, 0, axis)


def rounded(values):
    return np.clip(np.floor(values + 0.5), 0, 255).astype(np.uint8)


def area_average(picture, width, height):
    """The picture shrunk by area averaging to 8 bits. Colours are weighed by alpha; what is clear is black."""
    values = np.asarray(picture, np.float64)
    if picture.mode == "RGBA":
        values[..., :3] *= values[..., 3:] / 255
    values = averages(averages(values, height, 0), width, 1)
    if picture.mode == "RGBA":
        alpha = values[..., 3:]
        colour = np.divide(values[..., :3] * 255, alpha, out=np.zeros_like(values[..., :3]), where=alpha >= 0.5)
        values = np.concatenate([colour, alpha], axis=2)
    return Image.fromarray(rounded(values), picture.mode)


def two_tones(picture):
    """Black where at least half of the pixel is ink, as one bit."""
    return picture.point(lambda level: 255 if level > 127 else 0).convert("1", dither=Image.Dither.NONE)


def indexed(picture):
    """An RGB picture of at most 256 colours, as their numbers and a palette; colour for colour the same."""
    values = np.asarray(picture)
    colours, numbers = np.unique(values.reshape(-1, 3), axis=0, return_inverse=True)
    found = Image.fromarray(numbers.reshape(values.shape[:2]).astype(np.uint8), "P")
    found.putpalette(colours.tobytes())
    return found


def plain(picture):
    """Grey, RGB or RGBA of 8 bits, whatever the file has."""
    if "transparency" in picture.info or picture.mode in ("LA", "PA", "RGBA"):
        return picture.convert("RGBA")
    return picture.convert("L" if picture.mode in ("1", "L") else "RGB")


def over(picture, ground):
    """Channels of 0..255 of the picture laid over a grey ground."""
    values = np.asarray(picture, np.float32)
    if picture.mode == "L":
        return values[..., None]
    if picture.mode == "RGB":
        return values
    alpha = values[..., 3:] / 255
    return np.rint(values[..., :3] * alpha + ground * (1 - alpha))


def grounds_of(a, b):
    return (WHITE, BLACK) if "RGBA" in (a.mode, b.mode) else (WHITE,)


def psnr(a, b):
    """Over R, G, B together, of 8-bit levels; with alpha, of the picture over white and over black together."""
    errors = [np.mean((over(a, g) - over(b, g)) ** 2, dtype=np.float64) for g in grounds_of(a, b)]
    error = sum(errors) / len(errors)
    return min(MOST_DB, 10 * math.log10(255**2 / error)) if error else MOST_DB


def blurred(values, weights):
    """Gaussian windows that lie inside, of [height, width, channels]."""
    n = len(weights)
    down = sum(w * values[i : len(values) - n + 1 + i] for i, w in enumerate(weights))
    return sum(w * down[:, i : down.shape[1] - n + 1 + i] for i, w in enumerate(weights))


def windows_of(n):
    distance = np.arange(min(WINDOW, n)) - (min(WINDOW, n) - 1) / 2
    weights = np.exp(-(distance**2) / (2 * SIGMA**2))
    return weights / weights.sum()


def ssim_of(a, b):
    weights = windows_of(min(a.shape[:2]))
    total = count = 0
    for top in range(0, len(a) - len(weights) + 1, STRIP):
        x, y = (v[top : top + STRIP + len(weights) - 1].astype(np.float64) for v in (a, b))
        mx, my = blurred(x, weights), blurred(y, weights)
        vx, vy = blurred(x * x, weights) - mx * mx, blurred(y * y, weights) - my * my
        vxy = blurred(x * y, weights) - mx * my
        found = (2 * mx * my + C1) * (2 * vxy + C2) / ((mx * mx + my * my + C1) * (vx + vy + C2))
        total, count = total + found.sum(dtype=np.float64), count + found.size
    return float(total / count)


def ssim(a, b):
    """Wang et al. 2004, Gaussian windows of 11 x 11, the mean over the channels; with alpha, of both grounds."""
    found = [ssim_of(over(a, g), over(b, g)) for g in grounds_of(a, b)]
    return sum(found) / len(found)


def as_shown(picture):
    values = np.array(picture.convert("RGBA"))
    values[values[..., 3] == 0] = 0
    return values


def differing_pixels(a, b):
    """How many pixels are not the same; two clear ones are."""
    return int((as_shown(a) != as_shown(b)).any(axis=2).sum())


def flat_centres(picture, reach=2):
    """True where the 5 x 5 pixels around are of one colour."""
    values = as_shown(picture)
    height, width, side = *values.shape[:2], 2 * reach + 1
    found = np.zeros((height, width), bool)
    if height < side or width < side:
        return found
    around = np.lib.stride_tricks.sliding_window_view(values, (side, side), axis=(0, 1))
    found[reach : height - reach, reach : width - reach] = (around.max((-1, -2)) == around.min((-1, -2))).all(-1)
    return found


def flats(source, drawn, scale=4):
    """(pixels in the middle of flats, the largest difference of their scale x scale samples, in levels of 255)

    As seen over white and over black, so that the colour of what is nearly clear counts as little as it shows.
    """
    flat, worst = flat_centres(source), 0.0
    if not flat.any():
        return 0, 0
    inside = np.repeat(np.repeat(flat, scale, 0), scale, 1)
    for ground in grounds_of(source, drawn):
        wanted, found = (over(picture.convert("RGBA"), ground) for picture in (source, drawn))
        wanted = np.repeat(np.repeat(wanted, scale, 0), scale, 1)
        worst = max(worst, np.abs(found - wanted)[inside].max())
    return int(flat.sum()), int(worst)


def ranks(values):
    """From 0; equal ones share the middle of theirs."""
    values = np.asarray(values, float)
    return np.array([(values < v).sum() + ((values == v).sum() - 1) / 2 for v in values])


def rank_correlation(a, b):
    """Spearman's; NaN where one of them is all the same."""
    if len(a) < 2 or len(set(a)) == 1 or len(set(b)) == 1:
        return math.nan
    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])
