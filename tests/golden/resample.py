#!/usr/bin/env python3
"""Writes resample.json: pictures resampled by Pillow (float mode), for tests/data/resample_test.cpp.

Needs pillow and numpy. Run it from anywhere: tests/golden/resample.py
"""
import json
import pathlib

import numpy as np
from PIL import Image

FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos3": Image.Resampling.LANCZOS,
}
# Grow, shrink, one side each, odd ratios, down to one pixel.
SIZES = [(14, 22), (3, 5), (7, 4), (5, 11), (9, 7), (1, 1), (30, 2)]


def resampled(picture, height, width, kind):
    image = Image.fromarray(picture, mode="F")
    if kind == "area":  # numpy alone: the mean over blocks
        h, w = picture.shape
        blocks = picture.astype(np.float64).reshape(height, h // height, width, w // width)
        return blocks.mean(axis=(1, 3))
    return np.asarray(image.resize((width, height), FILTERS[kind]))


def case(picture, height, width, kind):
    out = resampled(picture, height, width, kind)
    return {"filter": kind, "height": height, "width": width,
            "values": [float(f"{v:.9g}") for v in np.asarray(out, np.float64).ravel()]}


def main():
    rng = np.random.default_rng(7)
    small = rng.random((7, 11), dtype=np.float32)
    blocky = rng.random((12, 18), dtype=np.float32)
    out = {
        "small": {"height": 7, "width": 11, "values": [float(v) for v in small.ravel()],
                  "cases": [case(small, h, w, kind) for kind in FILTERS for h, w in SIZES]},
        "blocky": {"height": 12, "width": 18, "values": [float(v) for v in blocky.ravel()],
                   "cases": [case(blocky, h, w, "area") for h, w in [(6, 9), (4, 3), (3, 18), (1, 1)]]},
    }
    path = pathlib.Path(__file__).with_name("resample.json")
    path.write_text(json.dumps(out, indent=None, separators=(",", ":")).replace('{"filter"', '\n{"filter"') + "\n")


if __name__ == "__main__":
    main()
