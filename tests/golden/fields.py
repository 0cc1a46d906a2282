#!/usr/bin/env python3
"""Writes fields/*.safetensors, small image fields as docs/formats.md describes them, and fields.json with what
they draw, computed in float64. For tests/field/golden_fields_test.cpp: files of every kind stay readable.

Needs numpy and safetensors. Shares nothing with Veldt. Run it from anywhere.
"""
import json
import pathlib

import numpy as np
from safetensors.numpy import save_file

WIDTH, HEIGHT, CHANNELS = 6, 4, 3
HERE = pathlib.Path(__file__).parent


def coordinates():
    side = max(WIDTH, HEIGHT)
    x = (2 * (np.arange(WIDTH) + 0.5) / WIDTH - 1) * WIDTH / side
    y = (2 * (np.arange(HEIGHT) + 0.5) / HEIGHT - 1) * HEIGHT / side
    return np.stack(np.broadcast_arrays(x[None, :], y[:, None]), axis=-1).reshape(-1, 2)


def grid_levels(o):
    """Of each level: cells a side, entries, whether they are hashed."""
    for level in range(o["levels"]):
        share = level / (o["levels"] - 1) if o["levels"] > 1 else 0
        cells = int(np.floor(o["coarsest"] * (o["finest"] / o["coarsest"]) ** share * (1 + 1e-9)))
        limit = 2 ** o["log2_entries"]
        yield cells, min((cells + 1) ** 2, limit), (cells + 1) ** 2 > limit


def grid(o, table, x):
    features, first = [], 0
    for cells, entries, hashed in grid_levels(o):
        at = np.clip((x + 1) / 2, 0, 1) * cells
        cell = np.minimum(np.floor(at), cells - 1)
        t = at - cell
        if o["smooth"]:
            t = t * t * (3 - 2 * t)
        total = 0
        for dy in (0, 1):
            for dx in (0, 1):
                a, b = (cell[:, 0] + dx).astype(np.uint64), (cell[:, 1] + dy).astype(np.uint64)
                index = (a ^ (b * np.uint64(2654435761) & np.uint64(0xFFFFFFFF))) % np.uint64(entries) if hashed \
                    else a + b * np.uint64(cells + 1)
                weight = (t[:, 0] if dx else 1 - t[:, 0]) * (t[:, 1] if dy else 1 - t[:, 1])
                total = total + weight[:, None] * table[first + index.astype(np.int64)]
        features.append(total)
        first += entries
    return np.concatenate(features, axis=1)


def encode(o, tensors, i, x):
    if o["kind"] == "identity":
        return x
    if o["kind"] == "frequency":
        z = np.concatenate([x * np.pi * 2**k for k in range(o["octaves"])], axis=1)
    elif o["kind"] == "fourier":
        z = 2 * np.pi * x @ tensors[f"encoding.parts.{i}.frequencies"].T
    else:
        return grid(o, tensors[f"encoding.parts.{i}.table"], x)
    return np.concatenate([np.sin(z), np.cos(z)], axis=1)


def activate(o, z, first):
    omega = o["first_omega"] if first else o["omega"]
    return {
        "siren": lambda: np.sin(omega * z),
        "finer": lambda: np.sin(omega * (np.abs(z) + 1) * z),
        "gauss": lambda: np.exp(-((omega * z) ** 2)),
        "wire": lambda: np.cos(omega * z) * np.exp(-((o.get("scale", 0) * z) ** 2)),
        "tanh": lambda: np.tanh(z),
        "relu": lambda: np.maximum(z, 0),
    }[o["activation"]]()


def draw(o, tensors):
    x = coordinates()
    parts = [encode(e, tensors, i, x) for i, e in enumerate(o.get("encodings", []))]
    h = np.concatenate(parts, axis=1) if parts else x
    for i in range(len(o["widths"]) + 1):
        h = h @ tensors[f"layers.{i}.weight"].T + tensors[f"layers.{i}.bias"]
        if i < len(o["widths"]):
            h = activate(o, h, i == 0)
    return np.clip((h + 1) / 2, 0, 1)


def make(rng, activation, encodings=(), **more):
    o = {"activation": activation, "widths": [5, 4], "channels": CHANNELS, "first_omega": 4.0, "omega": 2.0,
         "bias": True, "constant_input": False, "head": "clamp", "coordinates": "centres", "width": WIDTH,
         "height": HEIGHT, "footprint": 1, "two_tone": False, **more}
    tensors, inputs = {}, 0 if encodings else 2
    if encodings:
        o["encodings"] = list(encodings)
    for i, e in enumerate(encodings):
        if e["kind"] == "fourier":
            tensors[f"encoding.parts.{i}.frequencies"] = rng.normal(0, e["sigma"], (e["frequencies"], 2))
            inputs += 2 * e["frequencies"]
        elif e["kind"] == "grid":
            entries = sum(n for _, n, _ in grid_levels(e))
            tensors[f"encoding.parts.{i}.table"] = rng.uniform(-1, 1, (entries, e["features"]))
            inputs += e["levels"] * e["features"]
        else:
            inputs += 4 * e["octaves"] if e["kind"] == "frequency" else 2
    for i, outputs in enumerate([*o["widths"], CHANNELS]):
        tensors[f"layers.{i}.weight"] = rng.uniform(-0.7, 0.7, (outputs, inputs))
        tensors[f"layers.{i}.bias"] = rng.uniform(-0.3, 0.3, outputs)
        inputs = outputs
    return o, {name: t.astype(np.float32) for name, t in tensors.items()}


def main():
    rng = np.random.default_rng(7)
    dense = {"kind": "grid", "levels": 3, "features": 2, "log2_entries": 5, "coarsest": 2, "finest": 12,
             "smooth": False}
    fields = {name: make(rng, name) for name in ("siren", "finer", "tanh", "relu", "gauss")}
    fields["wire"] = make(rng, "wire", scale=1.5)
    fields["fourier"] = make(rng, "relu", [{"kind": "fourier", "frequencies": 6, "sigma": 0.8}])
    fields["hashgrid"] = make(rng, "relu", [dense])
    fields["side_by_side"] = make(rng, "tanh", [{"kind": "identity"}, {"kind": "frequency", "octaves": 3},
                                                {**dense, "smooth": True, "features": 3}])
    drawn = {}
    for name, (o, tensors) in fields.items():
        metadata = {"kind": "veldt.image_field", "format_version": "1", "options": json.dumps(o)}
        save_file(tensors, HERE / "fields" / f"{name}.safetensors", metadata)
        levels = draw(o, {n: t.astype(np.float64) for n, t in tensors.items()})
        assert levels.std() > 0.02 and np.mean((levels == 0) | (levels == 1)) < 0.5, name
        drawn[name] = [round(float(v), 8) for v in levels.reshape(-1)]
    (HERE / "fields.json").write_text(json.dumps(drawn, indent=1) + "\n")


if __name__ == "__main__":
    main()
