#!/usr/bin/env python3
"""Writes models.json: what torchvision's networks, and others, make of a picture.

Run with a Python that has torch, torchvision and efficientnet_lite_pytorch:  python tests/golden/models.py
Weights are no file: number i of the tensor with place t in the sorted names follows from i and t, see value(), and
vision_golden_test.cpp computes the same. All is computed in float64.
"""
import json
import pathlib
import sys

import numpy
import torch

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "models"))
import peers

CASES = {"resnet18": 64, "resnet34": 64, "resnet50": 64, "mobilenet_v2": 64, "mobilenet_v3_large": 64,
         "mobilenet_v3_small": 64, "efficientnet_lite0": 64, "vit_b_16": 32, "unet": 36, "unet_bilinear": 32}


def value(count, tensor):
    """Numbers in -0.5 .. 0.5."""
    i = numpy.arange(count, dtype=numpy.uint64)
    mixed = (i * 2654435761 + numpy.uint64(tensor) * 97003 + 12345) % (1 << 32)
    mixed = (mixed ^ (mixed >> 15)) * 2246822519 % (1 << 32)
    return (mixed ^ (mixed >> 13)).astype(numpy.float64) / 2**32 - 0.5


def fill(name, tensor, place):
    if name.endswith("num_batches_tracked"):
        return
    v = value(tensor.numel(), place)
    if name.endswith("running_var"):
        v = 1 + 0.5 * v
    elif name.endswith("weight") and tensor.dim() == 1:
        v = 1 + 0.4 * v
    elif name.endswith("weight"):
        v = v * (24 / (tensor.numel() // tensor.shape[0])) ** 0.5
    else:
        v = 0.2 * v
    tensor.copy_(torch.from_numpy(v.astype(numpy.float32)).reshape(tensor.shape))


def case(name, size):
    net = peers.network(name).eval()
    state = net.state_dict()
    with torch.no_grad():
        for place, key in enumerate(sorted(state)):
            fill(key, state[key], place)
        x = torch.from_numpy(3 * value(2 * 3 * size * size, 1 << 16)).float().double().reshape(2, 3, size, size)
        y = net.double()(x).flatten()
    # A U-Net has an output for each pixel: some of them.
    step = max(1, len(y) // 40)
    return {"size": size, "step": step, "outputs": [float(f"{v:.9g}") for v in y[::step].tolist()]}


if __name__ == "__main__":
    file = pathlib.Path(__file__).with_suffix(".json")
    file.write_text(json.dumps({name: case(name, size) for name, size in CASES.items()}, indent=1) + "\n")
