#!/usr/bin/env python3
"""Every op's value and first gradients as PyTorch computes them in float64.

Each case is one entry of a JSON list: the name that tests/ops/golden_test.cpp looks up, the inputs, PyTorch's result,
and the gradients of (result * weights).sum() for each input that has one, where weight i is 0.5 + 0.1 (i % 7).

usage: ops.py OUT.json      (needs torch)
"""
import json
import sys

import torch
import torch.nn.functional as F

torch.manual_seed(5)
torch.set_default_dtype(torch.float64)
CASES = []


def numbers(shape, low=-2.0, high=2.0):
    """Rounded to float32 and to a few digits, so that both dtypes read the same and the file stays small."""
    return ((torch.rand(shape) * (high - low) + low) * 1024).round() / 1024


def entry(t):
    values = t.detach().double().reshape(-1).tolist()
    return {"shape": list(t.shape), "values": [None if v != v else v for v in values],  # JSON has no NaN
            "dtype": {torch.int64: "i64", torch.bool: "bool"}.get(t.dtype, "float")}


def case(name, op, *inputs):
    leaves = [t.clone().requires_grad_() if t.is_floating_point() else t for t in inputs]
    out = op(*leaves)
    result = {"name": name, "inputs": [entry(t) for t in inputs], "result": entry(out)}
    wanted = [t for t in leaves if t.is_floating_point()]
    if out.requires_grad:
        weights = 0.5 + 0.1 * (torch.arange(out.numel()) % 7).reshape(out.shape)
        grads = torch.autograd.grad((out * weights).sum(), wanted, allow_unused=True, materialize_grads=True)
        result["gradients"] = [entry(g) for g in grads]
    CASES.append(result)


def elementwise():
    x = numbers([3, 4])
    for name in ["abs", "neg", "sign", "exp", "exp2", "expm1", "square", "sin", "cos", "tan", "tanh", "sinh", "cosh",
                 "asinh", "atan", "erf", "erfc", "sigmoid", "relu", "floor", "ceil", "round", "trunc", "frac",
                 "isnan", "isinf", "isfinite", "logical_not"]:
        case(name, getattr(torch, name), x)
    for name in ["log", "log2", "log10", "sqrt", "rsqrt", "reciprocal"]:
        case(name, getattr(torch, name), numbers([3, 4], 0.2, 3))
    case("log1p", torch.log1p, numbers([5], -0.8, 3))
    for name in ["asin", "acos", "atanh"]:
        case(name, getattr(torch, name), numbers([5], -0.9, 0.9))
    case("acosh", torch.acosh, numbers([5], 1.2, 3))
    case("round halves", torch.round, torch.tensor([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]))
    wide = numbers([12], -5, 5)
    for name in ["softplus", "selu", "gelu", "silu", "mish", "softsign", "hardswish", "relu6",
                 "logsigmoid", "hardtanh"]:
        case(name, getattr(F, name), wide)
    # F.hardsigmoid multiplies its gradient by a sixth rounded to float32.
    case("hardsigmoid", lambda t: (t + 3).clamp(0, 6) / 6, wide)
    case("leaky_relu 0.2", lambda t: F.leaky_relu(t, 0.2), wide)
    case("elu 0.7", lambda t: F.elu(t, 0.7), wide)
    case("celu 1.5", lambda t: F.celu(t, 1.5), wide)
    case("gelu_tanh", lambda t: F.gelu(t, approximate="tanh"), wide)
    case("clamp", lambda t: t.clamp(-0.5, 1), x)
    case("pow 3", lambda t: t**3, x)
    case("add 1.5", lambda t: t + 1.5, x)
    case("1.5 minus", lambda t: 1.5 - t, x)
    case("div 3", lambda t: t / 3, x)
    case("3 over", lambda t: 3 / t, numbers([3, 4], 0.3, 3))


def binary():
    a, b = numbers([3, 4]), numbers([4], 0.4, 3)
    for name in ["add", "sub", "mul", "div", "maximum", "minimum", "atan2", "hypot", "fmod", "remainder",
                 "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or",
                 "logical_xor"]:
        op = getattr(torch, {"equal": "eq"}.get(name, name))
        case(name, op, a, b)
    case("floor_divide", lambda s, t: torch.floor_divide(s.detach(), t.detach()), a, b)
    case("pow", torch.pow, numbers([3, 4], 0.2, 2), b)
    case("lerp", torch.lerp, a, numbers([3, 4]), numbers([3, 4], 0, 1))
    case("where", torch.where, numbers([3, 4]) > 0, a, b)
    case("masked_fill", lambda t, m: t.masked_fill(m, -3.5), a, numbers([3, 4]) > 0)


def reduce():
    x = numbers([2, 3, 4])
    case("sum", lambda t: t.sum((0, 2)), x)
    case("mean", lambda t: t.mean(1, keepdim=True), x)
    case("max", lambda t: t.amax((1, 2)), x)
    case("min", lambda t: t.amin(0), x)
    case("variance", lambda t: t.var(-1), x)
    case("stddev", lambda t: t.std((0, 1)), x)
    case("prod", lambda t: t.prod(1), x)
    zeros = x.clone()
    zeros[0, 1, 0] = zeros[1, 0, 1] = zeros[1, 2, 1] = 0
    case("prod", lambda t: t.prod(1), zeros)
    case("norm", lambda t: torch.linalg.vector_norm(t, 2, 1), x)
    case("norm", lambda t: torch.linalg.vector_norm(t, 2, 1), torch.zeros([2, 3, 4]))
    case("norm 3", lambda t: torch.linalg.vector_norm(t, 3), x)
    case("logsumexp", lambda t: t.logsumexp((0, 1)), x)
    case("argmax", lambda t: t.argmax(1), x)
    case("argmin", lambda t: t.argmin(1), x)
    case("argmax", lambda t: t.argmax(1), torch.tensor([[1.0, float("nan"), 3.0], [2.0, 2.0, 1.0]]))
    case("any", lambda t: t.any(1), numbers([2, 3]) > 1)
    case("all", lambda t: t.all(1), numbers([2, 3]) > -1)
    case("softmax", lambda t: t.softmax(1), x)
    case("log_softmax", lambda t: t.log_softmax(1), x)
    case("cumsum", lambda t: t.cumsum(1), x)
    case("cumprod", lambda t: t.cumprod(1), x)
    case("cumprod", lambda t: t.cumprod(1), zeros)
    case("sort", lambda t: t.sort(1).values, x)
    case("argsort", lambda t: t.argsort(dim=1, stable=True), torch.tensor([[2.0, 1.0, 2.0, 1.0, float("nan"), 0.0]]))
    case("argsort descending", lambda t: t.argsort(dim=1, descending=True, stable=True),
         torch.tensor([[2.0, 1.0, 2.0, 1.0, float("nan"), 0.0]]))
    case("topk", lambda t: t.topk(2, 1).values, x)


def shape():
    x = numbers([2, 3, 4])
    case("flip", lambda t: t.flip(0, 2), x)
    case("roll", lambda t: t.roll(3, 1), x)
    case("repeat", lambda t: t.repeat(2, 1, 1, 2), x)
    case("repeat_interleave", lambda t: t.repeat_interleave(2, 1), x)
    case("movedim", lambda t: t.movedim(0, 2), x)
    case("tril", lambda t: t.tril(-1), x)
    case("triu", lambda t: t.triu(1), x)
    case("diagonal", lambda t: t.diagonal(1, 1, 2), x)
    case("diag", lambda t: t.diag(-1), numbers([3]))
    case("pad", lambda t: F.pad(t, (1, 2, 0, 1), value=0.5), x)
    case("chunk", lambda t: torch.cat(t.chunk(3, 2)[::-1], 2), x)
    case("meshgrid", lambda s, t: torch.meshgrid(s, t, indexing="ij")[1], numbers([2]), numbers([3]))
    case("cat", lambda s, t: torch.cat([s, t], 1), x, numbers([2, 1, 4]))
    case("nonzero", lambda m: m.nonzero(), numbers([3, 4]) > 0)
    case("masked_select", lambda t, m: t.masked_select(m), x, numbers([3, 4]) > 0)
    index = torch.tensor([[0, 2, 1, 0], [2, 2, 0, 1]])
    y = numbers([3, 4])
    case("gather", lambda t, i: t.gather(0, i), y, index)
    case("index_select", lambda t, i: t.index_select(1, i), y, torch.tensor([3, 0, 3]))
    case("scatter", lambda t, i, s: t.scatter(0, i, s), y, torch.tensor([[0, 2, 1, 0], [2, 1, 0, 1]]), numbers([2, 4]))
    case("scatter_add", lambda t, i, s: t.scatter_add(0, i, s), y, index, numbers([2, 4]))
    case("index_add", lambda t, i, s: t.index_add(1, i, s), y, torch.tensor([1, 1, 3]), numbers([3, 3]))
    case("one_hot", lambda i: F.one_hot(i, 4), index)


def products():
    case("matmul", torch.matmul, numbers([2, 1, 3, 4]), numbers([2, 4, 2]))
    case("matmul", torch.matmul, numbers([4]), numbers([2, 4, 3]))
    case("matmul", torch.matmul, numbers([2, 3, 4]), numbers([4]))
    case("dot", torch.dot, numbers([5]), numbers([5]))
    case("outer", torch.outer, numbers([3]), numbers([2]))
    for equation, shapes in [("bij,bjk->bik", ([2, 3, 4], [2, 4, 2])), ("...ij,...jk->...ik", ([2, 1, 3, 4], [3, 4, 2])),
                             ("ij,jk", ([3, 4], [4, 2])), ("ba", ([3, 4],)), ("ii->i", ([3, 3],)),
                             ("ij,jk,kl->li", ([2, 3], [3, 4], [4, 2])), ("...i->...", ([2, 3, 4],)),
                             ("bhqd,bhkd->bhqk", ([2, 2, 3, 4], [2, 2, 3, 4]))]:
        case("einsum " + equation, lambda *t, e=equation: torch.einsum(e, *t), *[numbers(s) for s in shapes])


INTERPOLATIONS = {
    "nearest": ([2, 1, 5], dict(scale_factor=3)), "nearest sizes": ([1, 2, 5, 3], dict(size=(7, 2))),
    "nearest exact": ([1, 1, 4, 5], dict(size=(6, 3), mode="nearest-exact")),
    "linear": ([1, 2, 4], dict(scale_factor=2.5, mode="linear")),
    "bilinear": ([1, 2, 3, 4], dict(scale_factor=(2.0, 0.7), mode="bilinear")),
    "bilinear corners": ([1, 2, 3, 4], dict(size=(5, 7), mode="bilinear", align_corners=True)),
    "trilinear": ([1, 1, 2, 3, 2], dict(size=(3, 4, 3), mode="trilinear")),
    "bicubic": ([1, 2, 5, 4], dict(scale_factor=1.5, mode="bicubic")),
    "bicubic smaller": ([1, 1, 5, 6], dict(size=(3, 2), mode="bicubic")),
    "bicubic corners": ([1, 1, 4, 3], dict(size=(7, 5), mode="bicubic", align_corners=True)),
}


def sizes():
    for name, (shape, options) in INTERPOLATIONS.items():
        case("interpolate " + name, lambda t, o=options: F.interpolate(t, **o), numbers(shape))
    case("pixel_shuffle", lambda t: F.pixel_shuffle(t, 2), numbers([2, 8, 2, 3]))
    case("pixel_unshuffle", lambda t: F.pixel_unshuffle(t, 2), numbers([2, 2, 4, 6]))
    for mode in ("reflect", "replicate", "circular"):
        case("pad " + mode, lambda t, m=mode: F.pad(t, (1, 2, 2, 0), mode=m), numbers([1, 2, 3, 4]))


def distances():
    case("cosine_similarity", F.cosine_similarity, numbers([3, 4]), numbers([3, 4]))
    case("cosine_similarity", F.cosine_similarity, numbers([2, 3, 2]), numbers([3, 1]))
    case("pairwise_distance", F.pairwise_distance, numbers([3, 4]), numbers([3, 4]))
    case("pairwise_distance 1", lambda a, b: F.pairwise_distance(a, b, p=1), numbers([3, 4]), numbers([4]))
    case("normalize", F.normalize, numbers([3, 4, 2]))
    case("normalize", F.normalize, torch.zeros([2, 2]))


def main(out):
    for family in (elementwise, binary, reduce, shape, products, sizes, distances):
        family()
    with open(out, "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in CASES) + "\n]\n")


if __name__ == "__main__":
    main(sys.argv[1])
