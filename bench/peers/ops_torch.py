"""The calls of bench/ops/*.cpp in PyTorch, by the same names: CALLS for functions of the inputs, MODULES for layers of
the first one. A row that is in neither is PyTorch's function of the row's first word, or has no peer.
"""
import warnings

import torch
from torch import nn
from torch.nn import functional as F

warnings.filterwarnings("ignore", message="reduction: 'mean'")  # kl_div has the mean that Veldt has too

DTYPES = {
    "f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16, "f16": torch.float16,
    "i64": torch.int64, "i32": torch.int32, "u8": torch.uint8, "bool": torch.bool,
}


def weights(q, k):
    return (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(-1)


def self_attention(x):
    n, time, size = x.shape
    q, k, v = (part.view(n, time, 4, -1).transpose(1, 2) for part in x.split(size // 3, -1))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(n, time, size // 3)


def rotary(x):
    half = x.shape[-1] // 2
    angles = torch.outer(torch.arange(x.shape[-2]), 10000 ** (-torch.arange(half) / half)).to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1)


def positions(x):
    time, size = x.shape
    angles = torch.outer(torch.arange(time), 10000 ** (-torch.arange(0, size, 2) / size))
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)


def attend(**options):
    return lambda q, k, v, mask=None: F.scaled_dot_product_attention(q, k, v, attn_mask=mask, **options)


def along(name, dim):
    return lambda x, *rest: getattr(torch, name)(x, dim, *rest)


CALLS = {
    # bench/ops/elementwise.cpp
    "operator- unary": lambda x: -x,
    "relu": F.relu, "softplus": F.softplus, "celu": F.celu, "elu": F.elu, "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "hardsigmoid": F.hardsigmoid, "hardswish": F.hardswish,
    "hardtanh": F.hardtanh, "leaky_relu": F.leaky_relu, "logsigmoid": F.logsigmoid, "mish": F.mish, "relu6": F.relu6,
    "selu": F.selu, "silu": F.silu, "softsign": F.softsign,
    "clamp": lambda x: x.clamp(0, 1), "affine": lambda x: 2 * x + 1, "sine": lambda x: torch.sin(30 * x),
    "gauss": lambda x: torch.exp(-(2 * x).square()), "finer": lambda x: torch.sin(5 * (x.abs() + 1) * x),
    "wire": lambda x: torch.cos(10 * x) * torch.exp(-(2 * x).square()),
    "add number": lambda x: x + 2, "mul number": lambda x: x * 2, "div number": lambda x: x / 3,
    "div by number": lambda x: 1 / x, "pow 2": lambda x: x**2, "pow 3": lambda x: x**3, "pow 0.5": lambda x: x**0.5,
    "pow -1": lambda x: x**-1.0, "pow 1.7": lambda x: x**1.7, "maximum number": lambda x: x.clamp(min=0.5),
    "floor_divide number": lambda x: x // 3, "remainder number": lambda x: x % 3, "greater number": lambda x: x > 1,
    "operator+": lambda a, b: a + b, "operator-": lambda a, b: a - b, "operator*": lambda a, b: a * b,
    "operator/": lambda a, b: a / b, "equal": torch.eq, "lerp number": lambda a, b: torch.lerp(a, b, 0.3),
    "add row": torch.add, "mul row": torch.mul, "mul column": torch.mul,
    # bench/ops/lines.cpp
    "sum d0": lambda x: x.sum(0), "sum d1": lambda x: x.sum(1), "sum middle": lambda x: x.sum(1),
    "mean d1": lambda x: x.mean(1), "max d0": lambda x: x.amax(0), "max d1": lambda x: x.amax(1),
    "variance": torch.var, "variance d0": lambda x: x.var(0), "variance d1": lambda x: x.var(1), "stddev": torch.std,
    "prod d1": lambda x: x.prod(1), "norm": torch.linalg.vector_norm,
    "norm d0": lambda x: torch.linalg.vector_norm(x, dim=0), "norm d1": lambda x: torch.linalg.vector_norm(x, dim=1),
    "norm 1": lambda x: torch.linalg.vector_norm(x, 1), "norm 3": lambda x: torch.linalg.vector_norm(x, 3),
    "norm inf": lambda x: torch.linalg.vector_norm(x, torch.inf),
    "argmax d0": lambda x: x.argmax(0), "argmax d1": lambda x: x.argmax(1), "argmin d1": lambda x: x.argmin(1),
    "any d1": lambda x: x.any(1), "sum_to row": lambda x: x.sum_to_size(x.shape[1]),
    "cumsum d0": lambda x: x.cumsum(0), "cumsum d1": lambda x: x.cumsum(1), "cumsum line": lambda x: x.cumsum(0),
    "cummax d0": lambda x: x.cummax(0)[0], "cummax d1": lambda x: x.cummax(1)[0], "cummin d1": lambda x: x.cummin(1)[0],
    "logaddexp": torch.logaddexp, "hardshrink": F.hardshrink,
    "cumprod d0": lambda x: x.cumprod(0), "cumprod d1": lambda x: x.cumprod(1),
    "softmax d0": lambda x: x.softmax(0), "softmax d1": lambda x: x.softmax(1),
    "log_softmax d0": lambda x: x.log_softmax(0), "log_softmax d1": lambda x: x.log_softmax(1),
    "logsumexp d1": lambda x: x.logsumexp(1),
    "sort d1": lambda x: x.sort(dim=1, stable=True)[0], "sort d0": lambda x: x.sort(dim=0, stable=True)[0],
    "sort line": lambda x: x.sort(stable=True)[0], "argsort d1": lambda x: x.argsort(stable=True),
    "median d1": lambda x: x.median(1)[0], "clone": lambda x: x.clone(),
    "topk d1": lambda x: x.topk(5)[0], "topk line": lambda x: x.topk(10)[0],
    **{f"{op} d{dim}": along(op, dim) for dim in (0, 1)
       for op in ("gather", "index_select", "scatter", "scatter_add", "index_add")},
    "scatter number": lambda x, i: x.scatter(1, i, 3), "masked_fill": lambda x, m: x.masked_fill(m, 0),
    "one_hot": lambda i: F.one_hot(i, len(i)), "nonzero half": torch.nonzero,
    "rand": torch.rand_like, "randn": torch.randn_like, "randint": lambda x: torch.randint(100, x.shape),
    "randperm": lambda x: torch.randperm(x.numel()), "multinomial": lambda x: x.multinomial(10, replacement=True),
    # bench/ops/shapes.cpp
    "transpose": lambda x: x.mT, "permute": lambda x: x.permute(1, 0), "movedim": lambda x: x.movedim(0, 1),
    "slice": lambda x: x[:, 1::2], "narrow": lambda x: x.narrow(1, 1, 2), "select": lambda x: x.select(1, 1),
    "split": lambda x: x.split(8)[0], "chunk": lambda x: x.chunk(4)[0], "unsqueeze": lambda x: x.unsqueeze(1),
    "expand": lambda x: x.expand(4, *x.shape), "unflatten": lambda x: x.unflatten(1, (-1, 2)),
    "meshgrid": lambda x: torch.meshgrid(x[0], x[1], indexing="ij")[0],
    "reshape": lambda x: x.reshape(-1), "contiguous": lambda x: x.contiguous(),
    "contiguous transposed": lambda x: x.mT.contiguous(),
    **{f"to {name}": (lambda x, dtype=dtype: x.to(dtype)) for name, dtype in DTYPES.items()},
    "flip d0": lambda x: x.flip(0), "flip d1": lambda x: x.flip(1),
    "roll d0": lambda x: x.roll(3, 0), "roll d1": lambda x: x.roll(3, 1), "repeat": lambda x: x.repeat(2, 2),
    "repeat_interleave d0": lambda x: x.repeat_interleave(2, 0),
    "repeat_interleave d1": lambda x: x.repeat_interleave(2, 1),
    "pad": lambda x: F.pad(x, (1, 1, 1, 1)), "pad reflect": lambda x: F.pad(x, (1, 1, 1, 1), "reflect"),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x, 2), "pixel_unshuffle": lambda x: F.pixel_unshuffle(x, 2),
    "cat d0": lambda a, b: torch.cat([a, b], 0), "cat d1": lambda a, b: torch.cat([a, b], 1),
    "stack d0": lambda a, b: torch.stack([a, b], 0), "stack last": lambda a, b: torch.stack([a, b], -1),
    "zeros": lambda x: torch.zeros(x.shape, dtype=x.dtype), "ones": lambda x: torch.ones(x.shape, dtype=x.dtype),
    "full": lambda x: torch.full(x.shape, 3, dtype=x.dtype), "full_like": lambda x: torch.full_like(x, 3),
    "arange": lambda x: torch.arange(x.numel(), dtype=x.dtype),
    "arange step": lambda x: torch.arange(0, 3 * x.numel(), 3, dtype=x.dtype),
    "linspace": lambda x: torch.linspace(0, 1, x.numel(), dtype=x.dtype),
    "eye": lambda x: torch.eye(len(x), dtype=x.dtype),
    # bench/ops/products.cpp
    "linear": F.linear, **{f"matmul {kind}": torch.matmul for kind in ("vector", "row", "batch", "thin")},
    "einsum bij,bjk->bik": lambda a, b: torch.einsum("bij,bjk->bik", a, b),
    "einsum ij,ij->i": lambda a, b: torch.einsum("ij,ij->i", a, b),
    **{f"conv{d}d": (lambda x, w, b, f=f: f(x, w, b, padding=1))
       for d, f in ((1, F.conv1d), (2, F.conv2d), (3, F.conv3d))},
    **{f"conv_transpose{d}d": (lambda x, w, b, f=f: f(x, w, b, padding=1))
       for d, f in ((1, F.conv_transpose1d), (2, F.conv_transpose2d), (3, F.conv_transpose3d))},
    "conv2d depthwise": lambda x, w: F.conv2d(x, w, padding=1, groups=16),
    "scaled_dot_product_attention": attend(), "scaled_dot_product_attention causal": attend(is_causal=True),
    "scaled_dot_product_attention mask": attend(), "scaled_dot_product_attention bias": attend(),
    "attention_weights": weights, "self_attention": self_attention, "rotary_embedding": rotary,
    "sinusoidal_positions": positions, "mlp": lambda x, v, w: F.linear(F.linear(x, v).relu(), w),
    # bench/ops/layers.cpp
    "layer_norm": lambda x, w, b: F.layer_norm(x, w.shape, w, b), "rms_norm": lambda x, w: F.rms_norm(x, w.shape, w),
    "group_norm": lambda x, w, b: F.group_norm(x, 8, w, b),
    **{f"max_pool{d}d": (lambda x, f=f: f(x, 2))
       for d, f in ((1, F.max_pool1d), (2, F.max_pool2d), (3, F.max_pool3d))},
    **{f"avg_pool{d}d": (lambda x, f=f: f(x, 2))
       for d, f in ((1, F.avg_pool1d), (2, F.avg_pool2d), (3, F.avg_pool3d))},
    "max_pool2d 3 by 3": lambda x: F.max_pool2d(x, 3, 2, 1), "avg_pool2d 3 by 3": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "adaptive_max_pool1d": lambda x: F.adaptive_max_pool1d(x, 7),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 3),
    "adaptive_max_pool3d": lambda x: F.adaptive_max_pool3d(x, 3),
    "adaptive_avg_pool1d": lambda x: F.adaptive_avg_pool1d(x, 7),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 3),
    "adaptive_avg_pool2d 1": lambda x: F.adaptive_avg_pool2d(x, 1),
    "adaptive_avg_pool3d": lambda x: F.adaptive_avg_pool3d(x, 3),
    **{f"interpolate {mode}": (lambda x, mode=mode: F.interpolate(x, scale_factor=2, mode=mode))
       for mode in ("nearest", "bilinear", "bicubic")},
    "cosine_similarity": F.cosine_similarity, "pairwise_distance": F.pairwise_distance, "normalize": F.normalize,
    "mse": F.mse_loss, "l1": F.l1_loss, "huber": F.huber_loss, "smooth_l1": F.smooth_l1_loss,
    "bce": F.binary_cross_entropy, "bce_with_logits": F.binary_cross_entropy_with_logits, "kl_div": F.kl_div,
    "poisson_nll": F.poisson_nll_loss, "cross_entropy": F.cross_entropy, "nll": F.nll_loss,
}
# No call that PyTorch has: these rows are timed alone.
ALONE = {"lstm_steps", "grid_encoding"}


class Embedding(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.weight = nn.Parameter(torch.randn_like(table))

    def forward(self, _, index):
        return F.embedding(index, self.weight)


class First(nn.Module):  # of a recurrent layer: the output alone
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


MODULES = {
    "nn::LSTM": lambda x: First(nn.LSTM(64, 64, dtype=x.dtype)),
    "nn::GRU": lambda x: First(nn.GRU(64, 64, dtype=x.dtype)),
    "nn::BatchNorm2d": lambda x: nn.BatchNorm2d(64, dtype=x.dtype),
    "nn::BatchNorm2d eval": lambda x: nn.BatchNorm2d(64, dtype=x.dtype).eval(),
    "nn::InstanceNorm2d": lambda x: nn.InstanceNorm2d(64, dtype=x.dtype),
    "nn::Dropout": lambda x: nn.Dropout(0.1),
    "nn::Embedding": Embedding,
}


def has_peer(name):
    return name not in ALONE and (name in CALLS or name in MODULES or hasattr(torch, name.split()[0]))


def tensor(spec):
    shape, dtype, layout = list(spec["shape"]), DTYPES[spec["dtype"]], spec["layout"]
    if layout == "transposed":
        shape[-1], shape[-2] = shape[-2], shape[-1]
    if layout == "sliced":
        shape[-1] *= 2
    if dtype.is_floating_point:
        x = (torch.rand(shape) * (spec["high"] - spec["low"]) + spec["low"]).to(dtype)
    else:
        x = torch.randint(int(spec["low"]), int(spec["high"]), shape).to(dtype)
    return x.mT if layout == "transposed" else x[..., ::2] if layout == "sliced" else x


def made(name, specs, gradient):
    """A call without arguments, as bench_ops has it for the row; `gradient`: forward and backward."""
    inputs = [tensor(spec) for spec in specs]
    wanted = [x for x in inputs if x.is_floating_point()]
    if name in MODULES:
        run = MODULES[name](inputs[0])
        wanted = list(run.parameters()) + ([] if name == "nn::Embedding" else wanted)
    else:
        run = CALLS.get(name) or getattr(torch, name.split()[0])
    if name in LOSSES:
        wanted = wanted[:1]
    if not gradient:
        def forward():
            with torch.no_grad():
                return run(*inputs)
        return forward
    for x in wanted:
        x.requires_grad_()
    seed = torch.ones_like(run(*inputs).detach())
    return lambda: torch.autograd.grad(run(*inputs), wanted, seed)


# Their gradient goes to the prediction alone.
LOSSES = {"mse", "l1", "huber", "smooth_l1", "bce", "bce_with_logits", "kl_div", "poisson_nll"}
