"""Cases of ops that move, choose, reduce and multiply whole tensors, and of those that make them."""
import math

import torch

from case import Case, generator
from draw import DTYPES, FLOATS


@generator("reshape", "flatten", "transpose", "permute", "expand", "slice", "select", "unsqueeze", "squeeze",
           "contiguous", "clone", "movedim", "unflatten", "narrow")
def view(draw, name):
    least = {"transpose": 2, "movedim": 1, "slice": 1, "select": 1, "unflatten": 1, "narrow": 1}.get(name, 0)
    shape = draw.shape(least, 5)
    rank = len(shape)
    d = draw.dim(rank)
    x = draw.tensor(shape, draw.any_dtype())
    size = shape[d] if shape else 1
    if name == "reshape":
        sizes = [n for n in draw.some(range(1, 7)) if math.prod(shape) % n == 0][:1]
        return Case(name, [x, sizes + [-1] if math.prod(shape) else [0]], torch.reshape)
    if name == "flatten":
        return Case(name, [x, d if rank else 0], torch.flatten)
    if name == "transpose":
        return Case(name, [x, d, draw.dim(rank)], torch.transpose)
    if name == "permute":
        order = [int(i) - (rank if draw.chance(0.2) else 0) for i in draw.rng.permutation(rank)]
        return Case(name, [x, order], torch.permute)
    if name == "expand":
        x = draw.tensor([1 if draw.chance(0.5) else s for s in shape], x.dtype)
        wide = [draw.integer(1, 3) for _ in range(draw.integer(0, 2))]
        sizes = [draw.integer(0 if draw.chance(0.1) else 1, 5) if s == 1 else s for s in x.shape]
        return Case(name, [x, wide + sizes], lambda x, to: x.expand(to))
    if name == "slice":
        begin, end, step = draw.integer(-size - 1, size), draw.integer(-size - 1, size + 2), draw.integer(1, 3)
        if draw.chance(0.3):
            step = -step
        return Case(name, [x, d, begin, end, step], lambda x, d, begin, end, step: x.index_select(
            d, torch.tensor(range(size)[begin:end:step], dtype=torch.int64)))
    if name == "select":
        return Case(name, [x, d, draw.integer(-size, max(size - 1, 0))], torch.select)
    if name == "unsqueeze":
        return Case(name, [x, draw.integer(-rank - 1, rank)], torch.unsqueeze)
    if name == "squeeze":
        x = draw.tensor([1 if draw.chance(0.5) else s for s in shape], x.dtype)
        return Case(name, [x] if draw.chance(0.3) else [x, d], torch.squeeze)
    if name == "movedim":
        return Case(name, [x, d, draw.dim(rank)], torch.movedim)
    if name == "unflatten":
        part = draw.of([n for n in range(1, size + 1) if size % n == 0] or [1])
        return Case(name, [x, d, [part, size // part if draw.chance(0.5) or not size else -1]], torch.unflatten)
    if name == "narrow":
        begin = draw.integer(0, size)
        return Case(name, [x, d, begin, draw.integer(0, size - begin)], torch.narrow)
    return Case(name, [x], lambda x: x.contiguous())


@generator("cat", "stack", "meshgrid")
def joining(draw, name):
    shape = draw.shape(1 if name == "cat" else 0, 4)
    kinds = [draw.any_dtype()] * 3 if draw.chance(0.6) else [draw.any_dtype() for _ in range(3)]
    if name == "meshgrid":
        lists = [draw.tensor([draw.integer(1, 4)], kinds[0]) for _ in range(draw.integer(1, 3))]
        return Case(name, [lists], lambda lists: torch.meshgrid(lists, indexing="ij"))
    d = draw.dim(len(shape) + (name == "stack"))
    parts = []
    for kind in kinds[:draw.integer(1, 3)]:
        sizes = list(shape)
        if name == "cat":
            sizes[d] = draw.integer(0, 5)
        parts.append(draw.tensor(sizes, kind))
    return Case(name, [parts, d], torch.cat if name == "cat" else torch.stack)


@generator("split", "chunk", "flip", "roll", "repeat", "repeat_interleave", "pad", "pixel_shuffle", "pixel_unshuffle",
           "tril", "triu", "diagonal", "diag")
def arranging(draw, name):
    dtype = draw.any_dtype()
    if name in ("pixel_shuffle", "pixel_unshuffle"):
        r, small = draw.integer(1, 3), draw.shape(0, 1) + [draw.integer(1, 3)]
        side = [draw.integer(1, 4), draw.integer(1, 4)]
        sizes = small[:-1] + ([small[-1] * r * r] + side if name == "pixel_shuffle" else
                              [small[-1]] + [s * r for s in side])
        return Case(name, [draw.tensor(sizes, dtype), r], getattr(torch, name))
    if name == "pad":
        return padding(draw, dtype)
    shape = draw.shape(2 if name in ("tril", "triu", "diagonal") else 1, 2 if name == "diag" else 4)
    rank, x = len(shape), draw.tensor(shape, dtype)
    d = draw.dim(rank)
    offset = draw.integer(-4, 4)
    if name == "diagonal":
        first, second = (int(i) for i in draw.rng.permutation(rank)[:2])
        return Case(name, [x, offset, first, second], torch.diagonal)
    if name in ("tril", "triu", "diag"):
        return Case(name, [x, offset], getattr(torch, name))
    if name == "repeat":
        counts = [draw.integer(1, 3) for _ in range(draw.integer(0, 1))] + [draw.integer(0, 3) for _ in shape]
        return Case(name, [x, counts], lambda x, counts: x.repeat(counts))
    arguments, reference = {
        "split": ([draw.integer(1, 4), d], torch.split), "chunk": ([draw.integer(1, 4), d], torch.chunk),
        "flip": ([draw.dims(rank)], torch.flip), "roll": ([draw.integer(-7, 7), d], torch.roll),
        "repeat_interleave": ([draw.integer(0, 3), d], torch.repeat_interleave)}[name]
    return Case(name, [x, *arguments], reference)


def padding(draw, dtype):
    """PyTorch takes modes other than zeros of floats with one or two leading dimensions alone."""
    mode = draw.of(["constant", "reflect", "replicate", "circular"])
    if mode == "constant":
        shape = draw.shape(1, 4)
        amounts = [draw.integer(-1 if draw.chance(0.2) else 0, 3) for _ in range(2 * draw.integer(1, len(shape)))]
        value = draw.number(-2, 2) if dtype in FLOATS else float(draw.integer(0, 1))
        return Case("pad", [draw.tensor(shape, dtype), amounts, value],
                    lambda x, amounts, value: torch.nn.functional.pad(x, amounts, value=value))
    dims = draw.integer(1, 3)
    shape = [draw.integer(1, 2), draw.integer(1, 2)] + [draw.integer(2, 5) for _ in range(dims)]
    amounts = [draw.integer(0, s - 1) for s in reversed(shape[2:]) for _ in range(2)]
    number = ["constant", "reflect", "replicate", "circular"].index(mode)
    return Case("pad", [draw.tensor(shape, draw.float_dtype()), amounts, mode, number],
                lambda x, amounts, mode, number: torch.nn.functional.pad(x, amounts, mode=mode))


def over(function):
    """PyTorch's reductions over dims: none means all."""
    def reference(x, dims, keepdim):
        return function(x, tuple(dims) if dims else tuple(range(x.dim())), keepdim)
    return reference


def one_after_the_other(function):
    def reference(x, dims, keepdim):
        if x.dim() == 0:
            return function(x, 0, keepdim)
        for d in sorted((d % max(x.dim(), 1) for d in dims), reverse=True) if dims else range(x.dim() - 1, -1, -1):
            x = function(x, d, keepdim)
        return x
    return reference


def total(x, dims, keepdim):
    return torch.sum(x, dims, keepdim) if x.dim() else torch.sum(x)


def as_float(x):
    return x if x.is_floating_point() else x.float()


REDUCTIONS = {"sum": over(total), "mean": over(lambda x, d, k: torch.mean(as_float(x), d, k)),
              "max": over(torch.amax), "min": over(torch.amin), "prod": one_after_the_other(torch.prod),
              "any": over(lambda x, d, k: torch.any(x, d, k).bool()),  # of u8 PyTorch's is u8
              "all": over(lambda x, d, k: torch.all(x, d, k).bool()),
              "logsumexp": over(lambda x, d, k: torch.logsumexp(as_float(x), d, k))}


@generator(*REDUCTIONS)
def reduction(draw, name):
    shape, dtype = draw.shape(0, 5, empty=0.03), draw.any_dtype()
    dims = draw.dims(len(shape)) if shape or draw.chance(0.5) else [draw.dim(0)]
    special = name in ("sum", "max", "min", "any", "all")
    x = draw.tensor(shape, dtype, *((0.5, 1.5) if name == "prod" else (-3, 3)), special=special)
    return Case(name, [x, dims, draw.chance(0.5)], REDUCTIONS[name], slack=64)


@generator("variance", "stddev", "norm")
def moments(draw, name):
    shape, dtype = draw.shape(0, 4, empty=0.02), draw.float_dtype()
    dims = draw.dims(len(shape))
    keepdim, x = draw.chance(0.5), draw.tensor(shape, dtype)
    everything = tuple(dims) if dims else tuple(range(len(shape)))
    if name == "norm":
        p = draw.of([2.0, 1.0, 0.0, math.inf, -math.inf, 3.0, 1.5])
        return Case(name, [x, p, dims, keepdim], lambda x, p, dims, keepdim: torch.linalg.vector_norm(
            x, p, everything, keepdim), slack=64)
    function = torch.var if name == "variance" else torch.std
    return Case(name, [x, dims, keepdim, draw.of([1, 1, 0, 2])], lambda x, dims, keepdim, correction: function(
        x, everything or None, correction=correction, keepdim=keepdim), slack=256)


@generator("argmax", "argmin", "softmax", "log_softmax", "cumsum", "cumprod", "cummax", "cummin", "sort",
           "argsort", "topk")
def along(draw, name):
    shape = draw.shape(0, 4)
    dtype = draw.any_dtype() if name in ("cumsum", "cumprod") else draw.of(FLOATS + ["i64", "i32", "u8"])
    if name in ("softmax", "log_softmax"):
        dtype = draw.float_dtype()
    d, special = draw.dim(len(shape)), name in ("argmax", "argmin", "sort", "argsort", "topk")
    x = draw.tensor(shape, dtype, *((0.5, 1.5) if name == "cumprod" else (-3, 3)), special=special)
    flag = draw.chance(0.5)
    if name in ("argmax", "argmin"):
        return Case(name, [x, d, flag], getattr(torch, name))
    if name == "sort":
        return Case(name, [x, d, flag], lambda x, d, down: torch.sort(x, dim=d, descending=down, stable=True))
    if name == "argsort":
        return Case(name, [x, d, flag], lambda x, d, down: torch.argsort(x, dim=d, descending=down, stable=True))
    if name == "topk":  # stable, as PyTorch's is not
        k = draw.integer(0, shape[d] if shape else 1)

        def first(x, k, d, largest):
            values, indices = torch.sort(x, dim=d, descending=largest, stable=True)
            return (values.narrow(d, 0, k), indices.narrow(d, 0, k)) if x.dim() else (values, indices)
        return Case(name, [x, k if shape else 1, d, flag], first)
    return Case(name, [x, d], getattr(torch, name), slack=64)


@generator("isclose")
def isclose(draw, name):
    shape, dtype = draw.shape(), draw.any_dtype()
    x, y = draw.tensor(shape, dtype, special=True), draw.tensor(draw.broadcastable(shape), dtype, special=True)
    return Case(name, [x, y, draw.of([0.0, 0.5]), draw.of([0.0, 0.25]), draw.chance(0.5)], lambda x, y, *options: (
        torch.isclose(x.double(), y.double(), *options)))


@generator("sum_to")
def sum_to(draw, name):
    shape = draw.shape()
    return Case(name, [draw.tensor(shape, draw.float_dtype()), draw.broadcastable(shape)],
                lambda x, shape: x.sum_to_size(shape), slack=64)


@generator("cosine_similarity", "pairwise_distance", "normalize")
def distance(draw, name):
    dtype, shape = draw.float_dtype(), draw.shape(1, 3, empty=0)
    a, b = draw.tensor(shape, dtype), draw.tensor(draw.broadcastable(shape), dtype)
    F, p, eps = torch.nn.functional, draw.of([1.0, 2.0, 2.0, 3.0]), draw.of([1e-6, 1e-3])
    if name == "normalize":
        return Case(name, [a, p, draw.dim(len(shape)), eps], F.normalize, slack=1024)
    if name == "cosine_similarity":
        return Case(name, [a, b, draw.dim(len(shape)), eps], F.cosine_similarity, slack=256)
    return Case(name, [a, b, p, eps], F.pairwise_distance, slack=256)


@generator("gather", "index_select", "scatter", "scatter_add", "index_add", "masked_select", "nonzero", "one_hot")
def indexing(draw, name):
    shape, dtype = draw.shape(1, 3, empty=0), draw.any_dtype()
    rank, d, x = len(shape), draw.dim(len(shape)), draw.tensor(shape, dtype)
    if name == "masked_select":
        return Case(name, [x, draw.tensor(draw.broadcastable(shape), "bool")], torch.masked_select)
    if name == "nonzero":
        return Case(name, [draw.tensor(draw.shape(0, 4), dtype, -1, 1)], torch.nonzero)
    if name == "one_hot":
        classes = draw.integer(1, 6)
        return Case(name, [draw.index(shape, classes), classes], torch.nn.functional.one_hot)
    if name in ("index_select", "index_add"):
        index = draw.index([draw.integer(0, 5)], shape[d])
        if name == "index_select":
            return Case(name, [x, d, index], torch.index_select)
        part = [index.shape[0] if i == d % rank else s for i, s in enumerate(shape)]
        return Case(name, [x, d, index, draw.tensor(part, dtype)], torch.index_add, slack=64)
    size = [draw.integer(0, 5) if i == d % rank else draw.integer(0, s) for i, s in enumerate(shape)]
    if name == "scatter":  # each place once: else PyTorch's gradient is not defined
        size[d] = draw.integer(0, shape[d])
        order = torch.from_numpy(draw.rng.random([shape[d] if i == d % rank else s for i, s in enumerate(size)]))
        from draw import packed
        index = packed(torch.argsort(order, dim=d).narrow(d, 0, size[d]))
        if draw.chance(0.3) and dtype in FLOATS:
            return Case(name, [x, d, index, draw.number(-2, 2)], torch.scatter)
    else:
        index = draw.index(size, shape[d])
    if name == "gather":
        return Case(name, [x, d, index], torch.gather)
    return Case(name, [x, d, index, draw.tensor(index.shape, dtype)], getattr(torch, name), slack=64)


EQUATIONS = ["ij,jk->ik", "ij,jk", "bij,bjk->bik", "ii", "ii->i", "iij", "ij->", "ij->ji", "i,j->ij", "ij,ij->i",
             "ij,ij,ij->i", "...ij,...jk->...ik", "bhqd,bhkd->bhqk", "iji", "ij,jj", "ijk,k", "i,i,i", "aab,b->a",
             "...i->...", "ba", "ij,kl->ijkl"]


@generator("matmul", "dot", "outer", "linear", "einsum")
def product(draw, name):
    dtype = draw.float_dtype()
    m, k, n = (draw.of([1, 2, 3, 5, 8, 17, 33]) for _ in range(3))
    if name == "einsum":
        equation = draw.of(EQUATIONS)
        letters = {letter: draw.integer(1, 4) for letter in "abcdhijklq"}
        dots, tensors = [draw.integer(1, 3) for _ in range(draw.integer(0, 2))], []
        for term in equation.split("->")[0].split(","):
            sizes = (dots if "..." in term else []) + [letters[c] for c in term if c.isalpha()]
            tensors.append(draw.tensor(sizes, dtype))
        return Case(name, [equation, tensors], lambda equation, tensors: torch.einsum(equation, *tensors), slack=64)
    if name in ("dot", "outer"):
        return Case(name, [draw.tensor([k], dtype), draw.tensor([k if name == "dot" else n], dtype)],
                    getattr(torch, name), slack=64)
    if name == "linear":
        x, w = draw.tensor(draw.shape(0, 2) + [k], dtype), draw.tensor([n, k], dtype)
        bias = draw.tensor([n], dtype) if draw.chance(0.7) else None
        return Case(name, [x, w, bias], torch.nn.functional.linear, slack=64)
    lead = draw.shape(0, 2, most=3)
    a = draw.tensor([k] if draw.chance(0.15) else draw.broadcastable(lead) + [m, k], dtype)
    b = draw.tensor([k] if draw.chance(0.15) else draw.broadcastable(lead) + [k, n], dtype)
    return Case(name, [a, b], torch.matmul, slack=64)


@generator("zeros", "ones", "full", "arange", "linspace", "eye")
def creation(draw, name):
    dtype, shape = draw.any_dtype(), draw.shape()
    if name in ("zeros", "ones"):
        return Case(name, [shape, dtype, 0], lambda shape, dtype, _: getattr(torch, name)(shape, dtype=DTYPES[dtype]))
    if name == "full":
        value = draw.number(-3, 3) if dtype in FLOATS else float(draw.integer(0, 1))
        return Case(name, [shape, value, dtype, 0],
                    lambda shape, value, dtype, _: torch.full(shape, value, dtype=DTYPES[dtype]), local=True)
    if name == "eye":
        return Case(name, [draw.integer(0, 5), draw.integer(0, 5), dtype, 0],
                    lambda rows, columns, dtype, _: torch.eye(rows, columns, dtype=DTYPES[dtype]))
    floats = draw.float_dtype()
    if name == "linspace":
        return Case(name, [draw.number(-3, 3), draw.number(-3, 3), draw.integer(0, 20), floats, 0],
                    lambda first, last, n, dtype, _: torch.linspace(first, last, n, dtype=DTYPES[dtype]), slack=64)
    step = draw.of([-2, -1, 1, 2, 3])
    begin = draw.integer(-5, 5)
    end = begin + step * draw.integer(0, 20) + draw.integer(0, 1) * (1 if step > 0 else -1)
    return Case(name, [begin, end, step, draw.of([None, "i64", "f32", "f64"]), 0],
                lambda begin, end, step, dtype, _: torch.arange(begin, end, step,
                                                                dtype=DTYPES[dtype] if dtype else None))
