"""One peer of bench/gpu.cpp; bench/peers/gpu.py starts it.

usage: gpu_peer.py cublas|torch_eager|torch_graphed|torch_compiled|cupy|jax cuda|cpu [--quick]

Prints one JSON object a line: {"in": "about"|"ceilings"|"steps"|"failed", ...}. Exits with 3 where the peer is not
installed or has no such device. On the cpu NumPy stands for CuPy: the code is the same.
"""
import json
import math
import statistics
import sys
import time

PEER, DEVICE, QUICK = sys.argv[1], sys.argv[2], "--quick" in sys.argv
SECONDS = 0.01 if QUICK else 1.0
# In the order of what is asked of Veldt first.
CASES = {
    "seed_net": ([2, 128, 128, 256, 128, 64, 64, 64, 1], "tanh", 40000),
    "siren_64k": ([2, 256, 256, 256, 256, 3], "sine", 65536),
    "draw_1m": ([2, 256, 256, 256, 256, 3], "sine", 1 << 20),
    "hash_grid_256k": ([32, 64, 64, 3], "relu", 1 << 18),
}
PIECE = 1 << 18  # points that are drawn at once: a layer of a GPU's memory, not of a processor's cache


def say(key, **row):
    print(json.dumps({"in": key, **row}), flush=True)


def missing(why):
    print(why, file=sys.stderr)
    sys.exit(3)


def time_steps(step, wait):
    """As time_steps() of bench/gpu_timing.h."""

    def sample(steps):
        start = time.perf_counter()
        for _ in range(steps):
            step()
        wait()
        return time.perf_counter() - start

    sample(3)
    steps = max(1, min(10000, math.ceil(0.01 / sample(1))))
    ms, end = [], time.perf_counter() + SECONDS
    while len(ms) < 3 or (time.perf_counter() < end and len(ms) < 1000):
        ms.append(1e3 * sample(steps) / steps)
    return ms


def measure(case, precision, make, wait):
    """make() gives a step; what it throws is reported, and the next case goes on."""
    try:
        ms = time_steps(make(), wait)
        say("steps", case=case, precision=precision, median_ms=statistics.median(ms), ms=ms)
    except Exception as error:
        say("failed", what=f"{case} {precision}", why=f"{type(error).__name__}: {str(error)[:300]}")


def field_cases():
    """The cases, where the workers of bench/peers/field.py look for theirs."""
    import field_worker

    for name, (sizes, kind, count) in CASES.items():
        field_worker.CASES[name] = (sizes, kind, 64 if QUICK else count)
    return CASES


# --- PyTorch


def xor_in_torch(torch, wrap, **adam_options):
    x = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=torch.float32, device=DEVICE)
    y = torch.tensor([[0], [1], [1], [0]], dtype=torch.float32, device=DEVICE)
    net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)).to(DEVICE)
    adam = torch.optim.Adam(net.parameters(), lr=0.05, fused=True, **adam_options)
    loss_of = wrap(lambda: torch.nn.functional.mse_loss(net(x), y))

    def step():
        adam.zero_grad()
        loss = loss_of()
        loss.backward()
        adam.step()
        return loss.detach()

    return step


def captured(torch, step):
    """The whole step in one CUDA graph, as PyTorch's own notes on graphs do it."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def run_torch(kind):
    try:
        import torch
    except ImportError as error:
        missing(str(error))
    if DEVICE == "cuda" and not torch.cuda.is_available():
        missing(f"PyTorch {torch.__version__} sees no GPU")
    if kind == "graphed" and DEVICE != "cuda":
        missing("there are no CUDA graphs on the cpu")
    try:
        import field_torch
    except ImportError as error:  # NumPy
        missing(str(error))
    say("about", version=torch.__version__, cuda=torch.version.cuda)
    wait = torch.cuda.synchronize if DEVICE == "cuda" else (lambda: None)
    # mode reduce-overhead: CUDA graphs.
    mode = {"mode": "reduce-overhead"} if DEVICE == "cuda" else {}
    wrap = (lambda function: torch.compile(function, dynamic=False, **mode)) if kind == "compiled" else (lambda f: f)
    options = {"capturable": True} if DEVICE == "cuda" and kind == "graphed" else {}
    finish = (lambda step: captured(torch, step)) if kind == "graphed" else (lambda step: step)

    measure("xor_plan", "f32", lambda: finish(xor_in_torch(torch, wrap, **options)), wait)
    for case in field_cases():
        for precision in ("f32", "bf16") if DEVICE == "cpu" else ("f32", "tf32", "bf16"):
            torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
            make = lambda: finish(field_torch.make(case, precision, DEVICE, wrap, PIECE, **options))
            measure(case, precision, make, wait)


# --- CuPy, or NumPy: elementwise functions and products by hand


def net_by_hand(xp, sizes, x, y, lr):
    rng = xp.random.RandomState(1)
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        bound = 1 / math.sqrt(a)
        layers.append([rng.uniform(-bound, bound, shape).astype(xp.float32) for shape in ((a, b), (b,))])
    p = [array for layer in layers for array in layer]
    m, v, count = [xp.zeros_like(a) for a in p], [xp.zeros_like(a) for a in p], 0

    def step():
        nonlocal count
        count += 1
        h = [x]
        for i in range(0, len(p) - 2, 2):
            h.append(xp.tanh(h[-1] @ p[i] + p[i + 1]))
        d = (h[-1] @ p[-2] + p[-1] - y) * (2 / y.size)
        g = [None] * len(p)
        for i in range(len(p) - 2, -1, -2):
            g[i], g[i + 1] = h[i // 2].T @ d, d.sum(0)
            if i:
                d = (d @ p[i].T) * (1 - h[i // 2] ** 2)
        rate, root = lr / (1 - 0.9**count), math.sqrt(1 - 0.999**count)
        for i, slope in enumerate(g):
            m[i] += 0.1 * (slope - m[i])
            v[i] += 0.001 * (slope * slope - v[i])
            p[i] -= rate * m[i] / (xp.sqrt(v[i]) / root + 1e-8)

    return step


def run_cupy():
    try:
        if DEVICE == "cuda":
            import cupy as xp
        else:
            import numpy as xp
        wait = xp.cuda.Device().synchronize if DEVICE == "cuda" else (lambda: None)
        wait()
    except Exception as error:  # an import, or no device
        missing(str(error).split("\n")[0])
    say("about", version=xp.__version__, **({} if DEVICE == "cuda" else {"program": "NumPy"}))
    f32 = lambda rows: xp.asarray(rows, dtype=xp.float32)
    corners, target = f32([[0, 0], [0, 1], [1, 0], [1, 1]]), f32([[0], [1], [1], [0]])
    measure("xor_plan", "f32", lambda: net_by_hand(xp, [2, 4, 1], corners, target, 0.05), wait)
    sizes, _, count = CASES["seed_net"]
    x = xp.random.RandomState(2).uniform(-1, 1, (64 if QUICK else count, 2)).astype(xp.float32)
    y = xp.sin(x @ f32([[5], [-3]]))
    measure("seed_net", "f32", lambda: net_by_hand(xp, sizes, x, y, 1e-4), wait)


# --- JAX


def xor_in_jax(jax, jnp):
    x, y = jnp.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), jnp.array([[0.0], [1], [1], [0]])
    keys = jax.random.split(jax.random.PRNGKey(1), 2)
    p = [jax.random.uniform(keys[0], (2, 4)) - 0.5, jnp.zeros(4), jax.random.uniform(keys[1], (4, 1)) - 0.5, jnp.zeros(1)]

    def loss_of(p):
        return jnp.mean((jnp.tanh(x @ p[0] + p[1]) @ p[2] + p[3] - y) ** 2)

    def adam(p, m, v, t):
        g = jax.grad(loss_of)(p)
        m = [0.9 * m + 0.1 * g for m, g in zip(m, g)]
        v = [0.999 * v + 0.001 * g * g for v, g in zip(v, g)]
        rate, root = 0.05 / (1 - 0.9**t), jnp.sqrt(1 - 0.999**t)
        return [p - rate * m / (jnp.sqrt(v) / root + 1e-8) for p, m, v in zip(p, m, v)], m, v, t + 1

    update = jax.jit(adam)
    state = [p, [jnp.zeros_like(a) for a in p], [jnp.zeros_like(a) for a in p], jnp.float32(1)]

    def step():
        state[:] = update(*state)
        return state[3]

    return step


def run_jax():
    try:
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_platforms", DEVICE)
        device = jax.devices()[0]
        import field_jax
    except Exception as error:  # an import, or no such device
        missing(str(error).split("\n")[0])
    say("about", version=jax.__version__, jax_device=str(device))
    last = [0.0]

    def measure_jax(case, precision, make):
        def keeping():
            step = make()

            def run():
                last[0] = step()

            return run

        measure(case, precision, keeping, lambda: jax.block_until_ready(last[0]))

    measure_jax("xor_plan", "f32", lambda: xor_in_jax(jax, jnp))
    for case in field_cases():
        for precision, name in (("f32", "highest"), ("tf32", "tensorfloat32")):
            if precision == "f32" or DEVICE == "cuda":
                with jax.default_matmul_precision(name):
                    measure_jax(case, precision, lambda: field_jax.make(case, precision))


# --- cuBLAS, through the toolkit's libraries: what matrix products reach on this device


class Cuda:
    BF16, F32 = 14, 0  # cudaDataType
    SUMS = {"f32": 68, "tf32": 77, "bf16": 68}  # cublasComputeType_t: 32F, 32F_FAST_TF32

    def __init__(self):
        self.ctypes = __import__("ctypes")
        self.runtime, self.blas = self.load("cudart"), self.load("cublas")
        self.handle = self.ctypes.c_void_p()
        if status := self.runtime.cudaSetDevice(0):
            missing(f"CUDA error {status}")
        self.check(self.blas.cublasCreate_v2(self.ctypes.byref(self.handle)))

    def load(self, name):
        import glob

        found = sorted(glob.glob(f"/usr/local/cuda*/lib64/lib{name}.so*"), reverse=True)
        for path in (f"lib{name}.so", *found):
            try:
                return self.ctypes.CDLL(path)
            except OSError:
                continue
        missing(f"there is no lib{name}.so")

    def check(self, status):
        if status:
            raise RuntimeError(f"CUDA or cuBLAS error {status}")

    def wait(self):
        self.check(self.runtime.cudaDeviceSynchronize())

    def numbers(self, count, kind):
        """Random ones from 0.5 to 1, of both signs: a device draws less power, and runs faster, on zeros."""
        import array
        import random

        halves = array.array("H", (0x3F00 | r & 0x807F for r in (random.getrandbits(16) for _ in range(1 << 18))))
        size = count * (2 if kind == self.BF16 else 4)
        pointer, block = self.ctypes.c_void_p(), halves.tobytes()
        self.check(self.runtime.cudaMalloc(self.ctypes.byref(pointer), self.ctypes.c_size_t(size)))
        for at in range(0, size, len(block)):
            part = self.ctypes.c_size_t(min(len(block), size - at))
            self.check(self.runtime.cudaMemcpy(self.ctypes.c_void_p(pointer.value + at), block, part, 1))
        return pointer

    def product(self, precision, m, n, k):
        kind = self.BF16 if precision == "bf16" else self.F32
        a, b, c = self.numbers(m * k, kind), self.numbers(k * n, kind), self.numbers(m * n, kind)
        one, zero = self.ctypes.c_float(1), self.ctypes.c_float(0)
        by = self.ctypes.byref

        def step():
            self.check(
                self.blas.cublasGemmEx(
                    self.handle, 0, 0, m, n, k, by(one), a, kind, m, b, kind, k, by(zero), c, kind, m, self.SUMS[precision], -1
                )
            )

        rate = 2e-6 * m * n * k / statistics.median(time_steps(step, self.wait))
        for pointer in (a, b, c):
            self.check(self.runtime.cudaFree(pointer))
        return rate

    def copy(self, size):
        a, b = self.numbers(size // 4, self.F32), self.numbers(size // 4, self.F32)
        # Kind 3: on the device. The default stream, as cuBLAS.
        step = lambda: self.check(self.runtime.cudaMemcpyAsync(b, a, self.ctypes.c_size_t(size), 3, None))
        return 2e-6 * size / statistics.median(time_steps(step, self.wait))


def run_cublas():
    if DEVICE != "cuda":
        missing("cuBLAS has no cpu")
    cuda = Cuda()
    say("ceilings", name="copy", unit="GB/s", value=cuda.copy(1 << (20 if QUICK else 29)))
    side = 256 if QUICK else 8192
    for precision in ("f32", "tf32", "bf16"):
        say("ceilings", name=f"matmul {precision}", unit="GFLOP/s", value=cuda.product(precision, side, side, side))
        thin = cuda.product(precision, 256, 65536, 256)
        say("ceilings", name=f"thin matmul {precision}", unit="GFLOP/s", value=thin)


if PEER.startswith("torch_"):
    run_torch(PEER.removeprefix("torch_"))
else:
    {"cublas": run_cublas, "cupy": run_cupy, "jax": run_jax}[PEER]()
