#!/usr/bin/env python3
"""Reference for `veldt fit --preset simba`: the first 200 losses in float64.

Written with NumPy alone, nothing shared with Veldt: Philox4x32-10, Box-Muller, Xavier's normal initialisation, the
network 3-128-128-256-128-64-64-64-1 without biases, tanh, a sigmoid, all pixels in each step, plain gradient descent
on the mean squared error, cosine annealing over 1.2 million steps.

usage: simba.py PICTURE.png OUT.json      (needs numpy and pillow; takes a few minutes)
"""
import json
import sys

import numpy as np
from PIL import Image

SIZES = [3, 128, 128, 256, 128, 64, 64, 64, 1]
STEPS, TOTAL, LR_MAX, LR_MIN, SEED, STREAM = 200, 1_200_000, 0.01, 1e-6, 0, 1


def philox(first, count):
    """Draws first .. first + count - 1 of (SEED, STREAM), as 32-bit integers."""
    blocks = np.arange(first // 4, (first + count + 3) // 4, dtype=np.uint64)
    low = np.uint64(0xFFFFFFFF)
    c = [blocks & low, blocks >> np.uint64(32), np.full_like(blocks, STREAM & 0xFFFFFFFF),
         np.full_like(blocks, STREAM >> 32)]
    k0, k1 = SEED & 0xFFFFFFFF, SEED >> 32
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), p1 & low, (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k1),
             p0 & low]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    draws = np.stack(c, axis=1).reshape(-1)
    return draws[first % 4:first % 4 + count]


def initial_weights():
    """[out, in] for each layer. A layer first draws the uniform weights of torch.nn.Linear, which are then replaced."""
    weights, position = [], 0
    for fan_in, fan_out in zip(SIZES[:-1], SIZES[1:]):
        n = fan_in * fan_out
        position += n
        u = (philox(position, 2 * n) >> np.uint64(8)).astype(np.float64) * 2.0**-24
        position += 2 * n
        normal = np.sqrt(-2 * np.log(1 - u[0::2])) * np.cos(2 * np.pi * u[1::2])
        weights.append((normal * np.sqrt(2 / (fan_in + fan_out))).reshape(fan_out, fan_in))
    return weights


def main(picture, out):
    levels = np.asarray(Image.open(picture).convert("L"), dtype=np.float64) / 255
    height, width = levels.shape
    y, x = np.mgrid[0:height, 0:width]
    inputs = np.stack([x / (width - 1), y / (height - 1), np.ones_like(x)], axis=-1).reshape(-1, 3)
    target = 1 - levels.reshape(-1, 1)
    weights, losses = initial_weights(), []
    for step in range(STEPS):
        activations = [inputs]
        for w in weights[:-1]:
            activations.append(np.tanh(activations[-1] @ w.T))
        output = 1 / (1 + np.exp(-(activations[-1] @ weights[-1].T)))
        losses.append(float(np.mean((output - target) ** 2)))
        rate = LR_MIN + (LR_MAX - LR_MIN) * (1 + np.cos(np.pi * step / TOTAL)) / 2
        delta = 2 * (output - target) / target.size * output * (1 - output)
        for i in reversed(range(len(weights))):
            gradient = delta.T @ activations[i]
            if i > 0:
                delta = (delta @ weights[i]) * (1 - activations[i] ** 2)
            weights[i] = weights[i] - rate * gradient
    with open(out, "w") as f:
        json.dump({"losses": losses}, f, indent=0)
        f.write("\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
