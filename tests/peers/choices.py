"""Where Veldt differs from PyTorch because it was decided so. One table, each entry with its reason."""
import dataclasses
import math
import re
import typing

import torch

import elementwise_cases


@dataclasses.dataclass
class Choice:
    ops: tuple
    parts: tuple  # of values, dtype, first, second, refused by Veldt, refused by PyTorch
    reason: str
    where: typing.Callable = None  # (first input, Veldt's, PyTorch's) -> the elements that may differ; none: all
    when: typing.Callable = None   # (case) -> whether it applies; none: always


def dtypes(case):
    return {t.dtype for t in case.inputs()}


def number_beside_tensors(case):
    return len({len(t.shape) == 0 for t in case.inputs()}) > 1 and len(dtypes(case) - {"bool"}) > 1


def near_a_whole_factor(case):
    options, sides = case.arguments[1], case.inputs()[0].shape[2:]
    return any(int(s * f) in (s, 2 * s) for s, f in zip(sides, options.get("scale_factor", [])))


def no_variance(case):
    """Whether its lines have too few numbers."""
    (x, dims, _, correction) = case.arguments
    over = [d % len(x.shape) for d in dims] or range(len(x.shape))
    return math.prod(x.shape[d] for d in over) <= correction


def constant_line(case):
    """Whether there is a line of equal numbers of f64."""
    x = case.inputs()[0]
    lines, over = x.torch().detach(), [d % len(x.shape) for d in case.arguments[1]] or list(range(len(x.shape)))
    return x.dtype == "f64" and lines.numel() > 0 and bool((lines.amax(over) == lines.amin(over)).any())


def short_vector(case):
    """Whether a vector's norm is below eps, or within rounding of it."""
    d, eps = case.arguments[2:]
    vectors = torch.broadcast_tensors(*(t.torch().detach().double() for t in case.inputs()))
    return any(bool((v.norm(dim=d) < eps * 1.01).any()) for v in vectors)


def denormal(x):
    return x.double().abs() < torch.finfo(x.dtype).tiny * 4


ELEMENTWISE = (*elementwise_cases.UNARY, *elementwise_cases.WITH_NUMBERS)
SLOPES = ("first", "second")
CHOICES = [
    Choice(("squeeze",), ("refused by Veldt",), "a size above 1 is refused, as NumPy has it: nothing is left undone in silence"),
    Choice(("scatter_add", "index_add"), ("refused by Veldt",), "a sum of booleans is no boolean",
           when=lambda case: "bool" in dtypes(case)),
    Choice(("avg_pool3d",), ("refused by PyTorch",), "PyTorch refuses a kernel larger than what is not padding, in 3-d alone"),
    Choice(("max_pool1d", "max_pool2d", "max_pool3d"), ("refused by Veldt",),
           "a window that holds nothing but padding is refused; PyTorch gives -inf",
           when=lambda case: max(case.arguments[-1]["dilation"]) > 1),
    Choice(("group_norm",), ("refused by PyTorch",), "PyTorch refuses one number for each channel, whose result is the bias"),
    Choice(("chunk",), ("values",), "nothing is one piece; PyTorch gives as many empty ones as were asked for",
           when=lambda case: 0 in case.inputs()[0].shape),
    Choice(("interpolate",), ("values", *SLOPES),
           "PyTorch takes a factor near 1 or 2 for exactly that in some modes and ranks, in others' gradients alone",
           when=near_a_whole_factor),
    Choice(("pixel_unshuffle",), ("values",), "PyTorch leaves a tensor without elements as it is",
           when=lambda case: 0 in case.inputs()[0].shape),
    Choice(("add", "sub", "mul", "div", "pow", "maximum", "minimum", "floor_divide", "remainder", "fmod", "atan2",
            "where", "cat", "stack"), ("dtype",),
           "a tensor of rank 0 counts for the dtype as any other (docs/dtypes.md)", when=number_beside_tensors),
    Choice(("atan2", "remainder", "fmod"), SLOPES,
           "PyTorch negates an operand of u8 before it converts it, which wraps", when=lambda case: "u8" in dtypes(case)),
    Choice(("sign",), ("values",), "the sign of a NaN is NaN (ops/unary.h); PyTorch says 0", lambda x, *_: x.isnan()),
    Choice(ELEMENTWISE, SLOPES, "a NaN has no slope: what comes there differs from op to op, in PyTorch too",
           lambda x, *_: x.isnan()),
    Choice(("softsign", "gelu", "gelu_tanh", "silu", "mish", "wire", "sqrt", "acosh"), ("values", *SLOPES),
           "Veldt gives the limit at infinity, or nearer to it",
           lambda x, ours, theirs: theirs.isnan() & (x.double().abs() > 1e20)),
    Choice((*elementwise_cases.SYMBOLS,), ("values",),
           "whole numbers are compared as they are; PyTorch gives one of rank 0 the other's dtype, where -1 is 255",
           when=lambda case: number_beside_tensors(case) and "u8" in dtypes(case)),
    Choice(("norm", "normalize"), ("second",), "of a line of zeros; PyTorch's is NaN",
           lambda x, ours, theirs: theirs.isnan() & (ours == 0)),
    Choice(("atan2",), ("second",), "at the origin, where there is no second derivative",
           when=lambda case: all(bool((t.memory == 0).any()) for t in case.inputs())),
    Choice(("selu", "elu", "celu"), ("second",), "at 0, where there is no second derivative", lambda x, *_: x == 0),
    Choice(("acosh",), SLOPES, "there is no function below 1", lambda x, *_: x <= 1),
    Choice(("atanh",), SLOPES, "there is no function beyond 1", lambda x, *_: x.abs() > 1),
    Choice(("asin", "acos", "atanh"), ("second",), "infinite or NaN at the ends of the domain",
           lambda x, *_: x.abs() == 1),
    Choice(("rsqrt", "sqrt", "reciprocal"), SLOPES, "the sign of the infinite slope at -0.0", lambda x, *_: x == 0),
    Choice(("log", "log2", "log10", "rsqrt", "reciprocal", "sqrt"), SLOPES,
           "the slope at a denormal number overflows before it is multiplied", lambda x, *_: denormal(x)),
    Choice(("variance", "stddev"), SLOPES, "the variance is no number, and PyTorch's derivative of that is 0 in places",
           lambda x, ours, theirs: ours.isnan() | theirs.isnan(), no_variance),
    Choice(("maximum", "minimum"), SLOPES, "the gradient goes to the side that is NaN; PyTorch gives it to both",
           when=lambda case: any(bool(t.memory.isnan().any()) for t in case.inputs())),
    Choice(("max", "min"), SLOPES, "of a line that holds a NaN", lambda x, ours, theirs: theirs.isnan() | ours.isnan(),
           lambda case: any(bool(t.memory.isnan().any()) for t in case.inputs())),
    Choice(("finer",), ("values", *SLOPES), "the sine of an argument that f64 cannot hold: its rounding decides the value",
           lambda x, *_: x.double().abs() > 1e4, lambda case: "f64" in dtypes(case)),
    Choice(("cosine_similarity", "cosine_embedding"), SLOPES, "PyTorch's slope of a norm that underflows is NaN",
           lambda x, ours, theirs: theirs.isnan()),
    Choice(("cosine_similarity",), SLOPES,
           "a norm below eps counts as eps and has no slope; PyTorch differentiates it all the same", when=short_vector),
    Choice(("cosine_similarity",), ("second",), "of vectors of one number, whose first derivative is 0 but for rounding",
           lambda x, ours, theirs: (ours - theirs).abs() < 0.1),
    Choice(("layer_norm", "group_norm"), ("second",), "of equal numbers: what rounding leaves, times eps^-1.5",
           lambda x, ours, theirs: (ours - theirs).abs() <= 1e-8 * (1 + theirs.abs())),
    Choice(("stddev",), ("second",), "of nearly equal numbers: what rounding leaves, divided by their distance",
           lambda x, ours, theirs: (ours - theirs).abs() < 1e-9),
    Choice(("variance", "stddev"), SLOPES, "of equal numbers in f64, whose mean is rounded in both", when=constant_line),
    Choice(("cosine_embedding",), ("values", *SLOPES), "PyTorch's 1e-12, which decides for a vector of zeros, is an f32",
           lambda x, ours, theirs: (ours - theirs).abs() <= 4e-9 * theirs.abs(), lambda case: "f64" in dtypes(case)),
    Choice(("bce",), ("second",), "PyTorch adds 1e-12 to p and 1 - p there",
           lambda x, ours, theirs: (ours - theirs).abs() <= 1e-7 * theirs.abs() + 1e-9),
]


def chosen(case, part, bad=None, ours=None, theirs=None):
    """Whether the case may differ in this part: in each of the bad elements, where there are any."""
    left = bad
    for choice in CHOICES:
        if case.op not in choice.ops or part not in choice.parts or (choice.when and not choice.when(case)):
            continue
        if choice.where is None:
            return True
        if left is not None:
            left = left & ~choice.where(case.inputs()[0].torch().detach(), ours, theirs)
    return left is not None and not bool(left.any())


# Public functions that give tensors and have no such cases.
NOT_COMPARED = {
    "rand": "random numbers", "randn": "random numbers", "randint": "random numbers", "randperm": "random numbers",
    "bernoulli": "random numbers", "multinomial": "random numbers", "mlp": "made of layers that are compared",
    "grid_encoding": "PyTorch has none", "median": "PyTorch does not say which of equal elements it takes",
    "quantize": "PyTorch multiplies by 1 / scale; ONNX's own cases hold it", "fake_quantize": "as quantize",
    "dequantize": "of PyTorch's own tensors; ONNX's own cases hold it", "pack_nibbles": "PyTorch has none",
    "unpack_nibbles": "PyTorch has none"}


def forgotten(root, compared):
    """Functions of veldt/ops that are neither compared nor excused; a family of operators is its functions."""
    found = set()
    umbrella = (root / "veldt/veldt.h").read_text()
    for header in (root / "veldt/ops").glob("*.h"):
        if f"veldt/ops/{header.name}" in umbrella and header.name != "derivatives.h":
            text = re.sub("//[^\n]*", "", header.read_text())
            found |= set(re.findall(r"^(?:Tensor|Sorted|std::vector<Tensor>) (\w+)\(", text, re.MULTILINE))
    return sorted(found - set(compared) - set(NOT_COMPARED))
