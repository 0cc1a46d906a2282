"""The f32 steps of bench/field.cpp in JAX, for bench/peers/field.py: forward, loss, gradients and Adam are one
compiled function.

usage: field_jax.py      (requests on stdin: see field_worker.py)
"""
import os

import jax
import jax.numpy as jnp
import numpy as np

from field_worker import CASES, ENTRIES, FEATURES, LEVELS, OMEGA, PIECE, PRIME, cells, has_grid, only_draws, points, rate_of, serve

ACTIVATIONS = {"sine": lambda x: jnp.sin(OMEGA * x), "tanh": jnp.tanh, "relu": jax.nn.relu}


def encode(tables, x):
    features = []
    for level, table in enumerate(tables):
        n = cells(level)
        at = x * n
        low = jnp.clip(jnp.floor(at), 0, n - 1)
        t, low = at - low, low.astype(jnp.uint32)
        total = 0
        for i in (0, 1):
            for j in (0, 1):
                a, b = low[:, 0] + i, low[:, 1] + j
                hashed = (n + 1) ** 2 > ENTRIES
                index = (a ^ (b * jnp.uint32(PRIME))) % ENTRIES if hashed else a + b * (n + 1)
                weight = (t[:, 0] if i else 1 - t[:, 0]) * (t[:, 1] if j else 1 - t[:, 1])
                total += table[index] * weight[:, None]
        features.append(total)
    return jnp.concatenate(features, 1)


def start(rng, case):
    sizes = CASES[case][0]
    bounds = [(1 / np.sqrt(a), a, b) for a, b in zip(sizes, sizes[1:])]
    layers = [(rng.uniform(-k, k, (a, b)), rng.uniform(-k, k, b)) for k, a, b in bounds]
    entries = [min((cells(level) + 1) ** 2, ENTRIES) for level in range(LEVELS)] if has_grid(case) else []
    tables = [rng.uniform(-1e-4, 1e-4, (n, FEATURES)) for n in entries]
    return jax.tree.map(lambda a: jnp.asarray(a, jnp.float32), {"layers": layers, "tables": tables})


def make(case, precision):
    rng = np.random.default_rng(1)
    x, y = (jnp.asarray(a) for a in points(rng, case))
    activation = ACTIVATIONS[CASES[case][1]]

    def net(p, x):
        x = encode(p["tables"], x) if p["tables"] else x
        for w, b in p["layers"][:-1]:
            x = activation(x @ w + b)
        w, b = p["layers"][-1]
        return x @ w + b

    state = {"p": start(rng, case)}
    if only_draws(case):
        pieces = max(1, len(x) // PIECE)
        forward = jax.jit(lambda p, x: jax.lax.map(lambda piece: net(p, piece), x.reshape(pieces, -1, 2)))

        def draw():
            forward(state["p"], x).block_until_ready()
            return 0.0

        return draw

    def adam(p, m, v, t, x, y):
        loss, g = jax.value_and_grad(lambda p: jnp.mean((net(p, x) - y) ** 2))(p)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        rate, root = rate_of(case) / (1 - 0.9**t), jnp.sqrt(1 - 0.999**t)
        p = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) / root + 1e-8), p, m, v)
        return p, m, v, t + 1, loss

    update = jax.jit(adam, donate_argnums=(0, 1, 2, 3))
    zeros = lambda: jax.tree.map(jnp.zeros_like, state["p"])
    state.update(m=zeros(), v=zeros(), t=jnp.float32(1))

    def step():
        state["p"], state["m"], state["v"], state["t"], loss = update(*(state[k] for k in "pmvt"), x, y)
        return loss

    return step


def main():
    jax.config.update("jax_platforms", "cpu")
    serve({"program": f"JAX {jax.__version__}", "threads": len(os.sched_getaffinity(0))}, make)


if __name__ == "__main__":
    main()
