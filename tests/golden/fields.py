#!/usr/bin/env python3
"""Writes fields/*.safetensors, small fields as docs/formats.md describes them, and with what they draw, computed
in float64, fields.json of pictures and sound_fields.json of sounds. For tests/field/golden_fields_test.cpp: files
of every kind stay readable.

Needs numpy and safetensors. Shares nothing with Veldt. Run it from anywhere.
"""
import itertools
import json
import pathlib

import numpy as np
from safetensors.numpy import save_file

WIDTH, HEIGHT, CHANNELS = 6, 4, 3
FRAMES, RATE, PEAK = 40, 8000, 0.5
HERE = pathlib.Path(__file__).parent


def centres(n):
    return (np.arange(n) + 0.5) / n


def coordinates(o, u, v):
    """The points at the crossings of columns u and rows v."""
    side = max(WIDTH, HEIGHT)
    x, y = (2 * u - 1) * WIDTH / side, (2 * v - 1) * HEIGHT / side
    if o["coordinates"] == "corners":
        x, y = (u * WIDTH - 0.5) / (WIDTH - 1), (v * HEIGHT - 0.5) / (HEIGHT - 1)
    points = np.stack(np.broadcast_arrays(x[None, :], y[:, None]), axis=-1).reshape(-1, 2)
    return np.pad(points, ((0, 0), (0, 1)), constant_values=1) if o["constant_input"] else points


def played_at(rate, samples):
    """The moments of each frame, evenly over it: [frames * samples, 1]."""
    t = np.arange(FRAMES * rate // RATE)[:, None] + (np.arange(samples) + 0.5) / samples - 0.5
    return (2 * (t * RATE / rate + 0.5) / FRAMES - 1).reshape(-1, 1)


def grid_levels(o, dims):
    """For each level: cells along a side, entries, whether they are hashed."""
    for level in range(o["levels"]):
        share = level / (o["levels"] - 1) if o["levels"] > 1 else 0
        cells = int(np.floor(o["coarsest"] * (o["finest"] / o["coarsest"]) ** share * (1 + 1e-9)))
        limit, vertices = 2 ** o["log2_entries"], (cells + 1) ** dims
        yield cells, min(vertices, limit), vertices > limit


def grid(o, table, x):
    dims, factors = x.shape[1], (1, 2654435761)
    features, first = [], 0
    for cells, entries, hashed in grid_levels(o, dims):
        at = np.clip((x + 1) / 2, 0, 1) * cells
        cell = np.minimum(np.floor(at), cells - 1)
        t = at - cell
        if o["smooth"]:
            t = t * t * (3 - 2 * t)
        total = 0
        for corner in itertools.product((0, 1), repeat=dims):
            vertex = (cell + corner).astype(np.uint64)
            index, weight = np.uint64(0), 1
            for d in range(dims):
                part = vertex[:, d] * np.uint64(factors[d] if hashed else (cells + 1) ** d)
                index = index ^ (part & np.uint64(0xFFFFFFFF)) if hashed else index + part
                weight = weight * (t[:, d] if corner[d] else 1 - t[:, d])
            total = total + weight[:, None] * table[first + (index % np.uint64(entries)).astype(np.int64)]
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


def network(o, tensors, x):
    parts = [encode(e, tensors, i, x) for i, e in enumerate(o.get("encodings", []))]
    h = np.concatenate(parts, axis=1) if parts else x
    for i in range(len(o["widths"]) + 1):
        h = h @ tensors[f"layers.{i}.weight"].T + tensors.get(f"layers.{i}.bias", 0)
        if i < len(o["widths"]):
            h = activate(o, h, i == 0)
    return h


def draw(o, tensors):
    return np.clip((network(o, tensors, coordinates(o, centres(WIDTH), centres(HEIGHT))) + 1) / 2, 0, 1)


def windowed_sinc(x):
    return np.sinc(x) * np.i0(12 * np.sqrt(np.maximum(1 - (x / 128) ** 2, 0))) / np.i0(12) * (np.abs(x) < 128)


def play_closed(o, tensors, rate):
    frames = network(o, tensors, played_at(RATE, 1)) + tensors["closing"].sum(axis=0)[:, 0]
    wide = max(1, RATE / rate)
    away = np.arange(FRAMES * rate // RATE)[:, None] * RATE / rate - np.arange(FRAMES)
    return PEAK * windowed_sinc(away / wide) / wide @ frames


def play(o, tensors, rate):
    if o.get("closing"):
        return play_closed(o, tensors, rate)
    samples = -(-RATE // rate)
    y = network(o, tensors, played_at(rate, samples))
    return PEAK * y.reshape(-1, samples, y.shape[1]).mean(axis=1)


def make(rng, activation, encodings=(), **more):
    o = {"activation": activation, "widths": [5, 4], "channels": CHANNELS, "first_omega": 4.0, "omega": 2.0,
         "bias": True, "constant_input": False, "head": "clamp", "coordinates": "centres", "width": WIDTH,
         "height": HEIGHT, "footprint": 1, "two_tone": False, **more}
    dims = o.get("dimensions", 2)
    tensors, inputs = {}, 0 if encodings else dims + o["constant_input"]
    if encodings:
        o["encodings"] = list(encodings)
    for i, e in enumerate(encodings):
        if e["kind"] == "fourier":
            tensors[f"encoding.parts.{i}.frequencies"] = rng.normal(0, e["sigma"], (e["frequencies"], dims))
            inputs += 2 * e["frequencies"]
        elif e["kind"] == "grid":
            entries = sum(n for _, n, _ in grid_levels(e, dims))
            tensors[f"encoding.parts.{i}.table"] = rng.uniform(-1, 1, (entries, e["features"]))
            inputs += e["levels"] * e["features"]
        else:
            inputs += 2 * dims * e["octaves"] if e["kind"] == "frequency" else dims
    for i, outputs in enumerate([*o["widths"], o["channels"]]):
        tensors[f"layers.{i}.weight"] = rng.uniform(-0.7, 0.7, (outputs, inputs))
        if o["bias"]:
            tensors[f"layers.{i}.bias"] = rng.uniform(-0.3, 0.3, outputs)
        inputs = outputs
    return o, {name: t.astype(np.float32) for name, t in tensors.items()}


def save(name, kind, o, tensors):
    version = 2 if "closing" in o else 1
    if o.keys() & {"squares", "tones", "bits"} or version == 2 and np.any(tensors["closing"][1:] < -12):
        version = 3
    metadata = {"kind": kind, "format_version": str(version), "options": json.dumps(o)}
    save_file(tensors, HERE / "fields" / f"{name}.safetensors", metadata)
    return {n: t.astype(np.float64) for n, t in tensors.items()}


def in_a_list(values):
    return [round(float(v), 8) for v in values.reshape(-1)]


def sounds(rng):
    as_sound = {"channels": 2, "head": "plain", "width": 1, "height": FRAMES, "dimensions": 1, "rate": RATE, "peak": PEAK}
    line = {"kind": "grid", "levels": 1, "features": 2, "log2_entries": 30, "coarsest": 17, "finest": 17,
            "smooth": False}
    fields = {
        # As recipes make them: sines, one level and a linear layer, and the same with a closing.
        "sound_siren": make(rng, "siren", **{**as_sound, "first_omega": 40.0}),
        "sound_line": make(rng, "relu", [line], **as_sound, widths=[]),
        "sound_hashgrid": make(rng, "relu", [{**line, "levels": 3, "log2_entries": 4, "coarsest": 5, "finest": 40}],
                               **as_sound),
        "sound_closed": make(rng, "relu", [line], **as_sound, widths=[], closing=2),
    }
    fields["sound_closed"][1]["closing"] = rng.uniform(-0.5, 0.5, (2, FRAMES, 1, 2)).astype(np.float16)
    played = {}
    for name, (o, tensors) in fields.items():
        tensors = save(name, "veldt.sound_field", o, tensors)
        played[name] = {str(rate): in_a_list(play(o, tensors, rate)) for rate in (RATE // 2, RATE, 2 * RATE)}
        assert np.std(played[name][str(RATE)]) > 0.02, name
    (HERE / "sound_fields.json").write_text(json.dumps(played, indent=1) + "\n")


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
        tensors = save(name, "veldt.image_field", o, tensors)
        levels = draw(o, tensors)
        assert levels.std() > 0.02 and np.mean((levels == 0) | (levels == 1)) < 0.5, name
        drawn[name] = in_a_list(levels)
    (HERE / "fields.json").write_text(json.dumps(drawn, indent=1) + "\n")
    sounds(rng)


if __name__ == "__main__":
    main()
