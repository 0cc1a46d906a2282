#!/usr/bin/env python3
"""Writes fields/*.safetensors of pictures with a closing, squares, tones, a footprint and other heads, as
docs/formats.md describes them, and with what they draw at several sizes, computed in float64, sized_fields.json. For
tests/field/golden_fields_test.cpp.

Needs numpy and safetensors. Shares nothing with Veldt. Run it from anywhere.
"""
import json

import numpy as np

from fields import HEIGHT, HERE, WIDTH, centres, coordinates, in_a_list, make, network, save

# The own one; twice; larger and no multiple; smaller; larger across and smaller down.
SIZES = [(WIDTH, HEIGHT), (12, 8), (9, 5), (4, 3), (8, 3)]


def levels_from(y, head):
    if head == "clamp":
        return np.clip((y + 1) / 2, 0, 1)
    return 1 / (1 + np.exp(-y if head == "sigmoid" else y))


def cubic_convolution(x, n):
    """What each of n numbers weighs at the points x, from 0 to 1: [points, n]."""
    weights = np.zeros((len(x), n))
    for i, at in enumerate(x * n - 0.5):
        for k in range(int(np.floor(at)) - 1, int(np.floor(at)) + 3):
            t = abs(at - k)
            near, far = 1.5 * t**3 - 2.5 * t**2 + 1, -0.5 * t**3 + 2.5 * t**2 - 4 * t + 2
            weights[i, np.clip(k, 0, n - 1)] += near if t < 1 else far
    return weights


def close(closing, levels, u, v):
    height, width = closing.shape[1:3]
    sums = levels + np.einsum("rh,cw,hwk->rck", cubic_convolution(v, height), cubic_convolution(u, width), closing[0])
    if len(closing) == 2:
        second = closing[1][np.floor(v * height).astype(int)][:, np.floor(u * width).astype(int)]
        sums = np.where(second < -12, -second / 16 - 1, sums + second)
    return np.clip(sums, 0, 1)


def levels_at(o, tensors, u, v, steeper=1):
    y = network(o, tensors, coordinates(o, u, v)).reshape(len(v), len(u), -1)
    levels = levels_from(y * steeper, o["head"])
    return close(tensors["closing"], levels, u, v) if "closing" in o else levels


def shares(n, m):
    """How much of each of m equal parts of a line lies in each of n: [m, n]."""
    parts, of = np.arange(m + 1)[:, None] / m, np.arange(n + 1) / n
    return m * np.maximum(np.minimum(parts[1:], of[1:]) - np.maximum(parts[:-1], of[:-1]), 0)


def means(levels, width, height, by_alpha):
    """Over the areas of width x height pixels."""
    across, down = shares(levels.shape[1], width), shares(len(levels), height)
    plain = np.einsum("rh,cw,hwk->rck", down, across, levels)
    if not by_alpha:
        return plain
    alpha = plain[..., -1:]
    weighed = np.einsum("rh,cw,hwk->rck", down, across, levels * levels[..., -1:])
    seen = np.divide(weighed, alpha, out=plain.copy(), where=alpha > 0)
    return np.concatenate([seen[..., :-1], alpha], axis=-1)


def draw(o, tensors, width, height):
    has_alpha, smaller = o["channels"] % 2 == 0, max(WIDTH / width, HEIGHT / height)
    if o.get("squares"):
        period = o.get("period", 1)
        levels = levels_at(o, tensors, centres(WIDTH // period), centres(HEIGHT // period))
        return means(levels, width, height, has_alpha)
    if o["footprint"] == 1 and smaller > 1:
        # A side that is not made smaller has its own points.
        levels = levels_at(o, tensors, centres(max(width, WIDTH)), centres(max(height, HEIGHT)))
        return means(levels, width, height, has_alpha)
    samples = int(np.ceil(o["footprint"] * smaller))
    steeper = (1 + 1 / smaller) / 2 if o["two_tone"] and smaller < 1 else 1
    levels = levels_at(o, tensors, centres(width * samples), centres(height * samples), steeper)
    levels = means(levels, width, height, has_alpha and smaller > 1)
    if "tones" in o and (width, height) == (WIDTH, HEIGHT):
        away = [((levels - tone) ** 2).sum(axis=-1, keepdims=True) for tone in o["tones"]]
        return np.where(away[1] < away[0], o["tones"][1], o["tones"][0])
    return levels


def closed(rng, closing, flat=0.0, **more):
    """A grid and a linear layer with a closing, of whose second numbers the share `flat` stands for flat ground."""
    grid = {"kind": "grid", "levels": 2, "features": 2, "log2_entries": 30, "coarsest": 2, "finest": 5,
            "smooth": False}
    o, tensors = make(rng, "relu", [grid], widths=[], closing=closing, **more)
    period = o.get("period", 1)
    numbers = rng.uniform(-0.2, 0.2, (closing, HEIGHT // period, WIDTH // period, o["channels"]))
    grounds = -16 * (1 + rng.random(numbers.shape[1:]))
    numbers[1:] = np.where(rng.random(grounds.shape) < flat, grounds, numbers[1:])
    tensors["closing"] = numbers.astype(np.float32 if o.get("bits") == 16 else np.float16)
    return o, tensors


def main():
    rng = np.random.default_rng(11)
    fields = {
        "closed": closed(rng, 1, channels=4),
        "flat_ground": closed(rng, 2, flat=0.3, channels=2),
        "flat_ground_16": closed(rng, 2, flat=0.3, channels=3, bits=16, footprint=2),
        "squares": make(rng, "siren", channels=4, head="ink", squares=True),
        "squares_of_two": closed(rng, 2, flat=0.3, channels=1, squares=True, period=2),
        "tones": make(rng, "siren", head="sigmoid", footprint=2, tones=[[0.1, 0.2, 0.4], [0.9, 0.7, 0.8]]),
        "two_tone": make(rng, "finer", channels=2, coordinates="corners", bias=False, constant_input=True,
                         footprint=2, two_tone=True),
    }
    fields["flat_ground"][1]["closing"][1, :2, :2, -1] = -16  # clear
    drawn = {}
    for name, (o, tensors) in fields.items():
        tensors = save(name, "veldt.image_field", o, tensors)
        pictures = {f"{w}x{h}": draw(o, tensors, w, h) for w, h in SIZES}
        drawn[name] = {size: in_a_list(levels) for size, levels in pictures.items()}
        levels = pictures["12x8"]
        assert levels.std() > 0.02 and np.mean((levels == 0) | (levels == 1)) < 0.5, name
    (HERE / "sized_fields.json").write_text(json.dumps(drawn, indent=1) + "\n")


if __name__ == "__main__":
    main()
