"""What the peers of bench/field.cpp share: its cases, and serving them on request.

A worker reads requests from stdin, a line each, and answers with one JSON object a line, as bench_field --serve
does: "about", or "run CASE PRECISION SECONDS".
"""
import json
import sys
import time

import numpy as np

# Layers, activation, points. The grid of "hash_grid": 16 levels of 2 features, 2^19 entries, 16 to 2048 cells.
CASES = {
    "seed_net": ([2, 128, 128, 256, 128, 64, 64, 64, 1], "tanh", 40000),
    "siren_16k": ([2, 256, 256, 256, 256, 3], "sine", 16384),
    "siren_64k": ([2, 256, 256, 256, 256, 3], "sine", 65536),
    "cub": ([2, 128, 128, 128, 128, 1], "sine", 4096),
    "hash_grid": ([32, 64, 64, 3], "relu", 65536),
    "render_1024": ([2, 256, 256, 256, 256, 3], "sine", 1 << 20),
}
OMEGA = 30.0
LEVELS, FEATURES, ENTRIES, COARSEST, FINEST, PRIME = 16, 2, 1 << 19, 16, 2048, 2654435761
# Drawing goes in pieces: a whole layer of a million points is beyond any cache, and slower.
PIECE = 16384


def has_grid(case):
    return case.startswith("hash_grid")


def only_draws(case):
    return case.startswith(("render", "draw"))


def rate_of(case):
    """Adam's, as in bench/field_step.h."""
    return 1e-2 if has_grid(case) else 1e-4


def cells(level):
    return int(COARSEST * (FINEST / COARSEST) ** (level / (LEVELS - 1)) + 1e-9)


def points(rng, case):
    """x [points, 2] and y [points, channels]: waves at random points, as a picture to learn."""
    sizes, _, count = CASES[case]
    x = rng.uniform(0 if has_grid(case) else -1, 1, (count, 2)).astype("float32")
    waves = rng.uniform(-8, 8, (2, sizes[-1])).astype("float32")
    return x, np.sin(x @ waves)


def sample(step, seconds):
    """One step unmeasured, then at least two, and as many as start within `seconds`."""
    first, ms = float(step()), []
    start = before = time.perf_counter()
    while len(ms) < 2 or before - start < seconds:
        loss = float(step())
        now = time.perf_counter()
        ms.append(1e3 * (now - before))
        before = now
    return {"ms": ms, "loss": [first, loss]}


def serve(about, make):
    """make(case, precision) gives a step: a function that takes it and returns its loss, a number or an array of one."""
    steps = {}  # of one case, for the memory that they hold
    for line in sys.stdin:
        try:
            words = line.split()
            if words[0] == "about":
                answer = about
            else:
                key = (words[1], words[2])
                if any(case != words[1] for case, _ in steps):
                    steps.clear()
                if key not in steps:
                    steps[key] = make(*key)
                    steps[key]()
                answer = sample(steps[key], float(words[3]))
        except Exception as error:  # the driver says which sample failed, and goes on
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)
