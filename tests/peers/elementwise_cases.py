"""Cases of elementwise ops."""
import math

import torch
import torch.nn.functional as F

from case import Case, generator
from draw import FLOATS, WHOLE

# Where a function lives, if not within -3 .. 3.
DOMAINS = {"log": (0.01, 5), "log2": (0.01, 5), "log10": (0.01, 5), "log1p": (-0.9, 5), "sqrt": (0, 5),
           "rsqrt": (0.01, 5), "asin": (-0.95, 0.95), "acos": (-0.95, 0.95), "atanh": (-0.95, 0.95),
           "acosh": (1.05, 5), "exp": (-20, 20), "sin": (-1e4, 1e4), "cos": (-1e4, 1e4), "tan": (-10, 10),
           "gelu": (-6, 6), "hardswish": (-5, 5), "hardsigmoid": (-5, 5), "relu6": (-2, 8), "softplus": (-15, 15),
           "sigmoid": (-15, 15), "logsigmoid": (-15, 15), "tanh": (-6, 6)}
OWN = {"relu": F.relu, "softplus": lambda x: F.softplus(x, 1, 40), "selu": F.selu, "silu": F.silu, "mish": F.mish,
       "gelu": lambda x: x * (0.5 * torch.special.erfc(x * -math.sqrt(0.5))),  # F's cancels in its tail
       "gelu_tanh": lambda x: x * torch.sigmoid(math.sqrt(8 / math.pi) * (x + 0.044715 * x**3)),  # and so does this
       "softsign": F.softsign, "hardswish": F.hardswish,
       "hardsigmoid": lambda x: F.relu6(x + 3) / 6,  # F's multiplies its gradient by a rounded sixth
       "relu6": F.relu6, "logsigmoid": F.logsigmoid}
FLOATS_ONLY = ["softplus", "selu", "gelu", "gelu_tanh", "silu", "mish", "softsign", "hardswish", "logsigmoid"]
UNARY = ["neg", "abs", "sign", "square", "floor", "ceil", "round", "trunc", "frac", "reciprocal", "sqrt", "rsqrt",
         "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
         "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "sigmoid", "isnan", "isinf", "isfinite",
         "logical_not", "zeros_like", "ones_like"] + list(OWN)
KEEP_WHOLE = ["neg", "abs", "sign", "square", "relu", "floor", "ceil", "round", "trunc"]


@generator(*UNARY)
def unary(draw, name):
    dtype = draw.float_dtype() if draw.chance(0.75) else draw.of(WHOLE + ["bool"])
    if name in FLOATS_ONLY or (name == "frac" and dtype not in FLOATS) or (name in KEEP_WHOLE + ["relu6"] and dtype == "bool"):
        dtype = draw.float_dtype()
    low, high = DOMAINS.get(name, (-3, 3))
    if draw.chance(0.1) and dtype in FLOATS:
        low, high = -100, 100
    reference = OWN.get(name, getattr(torch, name, None))
    if dtype not in FLOATS and name == "hardsigmoid":
        return Case(name, [draw.tensor(draw.shape(), dtype, low, high)], lambda x: reference(x.float()), local=True)
    slack = 4096 if name.startswith("gelu") else 16  # the exponent of the tail is known to an epsilon of its own size
    return Case(name, [draw.tensor(draw.shape(), dtype, low, high, special=True)], reference, slack=slack, local=True)


WITH_NUMBERS = ["leaky_relu", "elu", "celu", "hardtanh", "clamp", "affine", "sine", "gauss", "finer", "wire",
                "full_like"]


@generator(*WITH_NUMBERS)
def unary_with_numbers(draw, name):
    x = draw.tensor(draw.shape(), draw.float_dtype(), special=True)
    a, b = draw.number(0.1, 2), draw.number(-1, 1)
    low, high = sorted([draw.of([-2, -1, -0.5, 0, 1.5]), draw.of([-1, 0, 0.5, 1, 3])])
    numbers, reference = {
        "leaky_relu": ([a], F.leaky_relu), "elu": ([a], F.elu),
        "celu": ([a], lambda x, a: torch.where(x > 0, x, a * torch.expm1(x.masked_fill(x > 0, 0) / a))),  # F's rounds 1 / a
        "hardtanh": ([low, high], F.hardtanh), "clamp": ([low, high], torch.clamp),
        "affine": ([a, b], lambda x, a, b: x * a + b), "sine": ([a], lambda x, w: torch.sin(w * x)),
        "gauss": ([a], lambda x, s: torch.exp(-(s * x)**2)),
        "finer": ([a], lambda x, w: torch.sin(w * (x.abs() + 1) * x)),
        "wire": ([a, abs(b)], lambda x, w, s: torch.cos(w * x) * torch.exp(-(s * x)**2)),
        "full_like": ([a], torch.full_like)}[name]
    if name == "hardtanh" and low == high:
        numbers[1] += 1  # PyTorch refuses it
    return Case(name, [x, *numbers], reference, slack=64, local=name not in ("sine", "finer", "wire", "gauss"))


@generator("to")
def conversion(draw, name):
    x = draw.tensor(draw.shape(), draw.any_dtype(), -100, 100)
    if draw.chance(0.3):
        x = draw.tensor(x.shape, draw.any_dtype(), 0, 3)
    target = draw.any_dtype()
    if target == "u8" and x.dtype in FLOATS:
        x = draw.tensor(x.shape, x.dtype, 0, 255)  # beyond it C++ leaves open what comes
    from draw import DTYPES
    return Case(name, [x, target], lambda x, to: x.to(DTYPES[to]))


SYMBOLS = {"equal": torch.eq, "not_equal": torch.ne, "less": torch.lt, "less_equal": torch.le, "greater": torch.gt,
           "greater_equal": torch.ge}
BINARY = ["add", "sub", "mul", "div", "pow", "maximum", "minimum", "floor_divide", "remainder", "fmod", *SYMBOLS,
          "atan2", "hypot", "logical_and", "logical_or", "logical_xor"]
NOT_OF_BOOLEANS = ["sub", "pow", "floor_divide", "remainder", "fmod", "hypot"]
WHOLE_QUOTIENTS = ["floor_divide", "remainder", "fmod"]


@generator(*BINARY)
def binary(draw, name):
    if name not in ("atan2", "hypot", "logical_and", "logical_or", "logical_xor") and draw.chance(0.25):
        return with_number(draw, name)
    kinds = [draw.any_dtype(), draw.any_dtype()]
    if draw.chance(0.5):
        kinds[1] = kinds[0]
    if name in NOT_OF_BOOLEANS and "bool" in kinds:
        kinds = [draw.float_dtype(), "f32"]
    if name == "hypot":
        kinds = [draw.float_dtype()] * 2  # PyTorch has it for floats alone
    special = name not in ("pow", *WHOLE_QUOTIENTS)
    low, high = {"pow": (0.1, 3), "div": (-3, 3)}.get(name, (-4, 4))
    shape = draw.shape()
    a = draw.tensor(shape, kinds[0], low, high, special)
    b = draw.tensor(draw.broadcastable(shape), kinds[1], low, high, special)
    if name in WHOLE_QUOTIENTS:
        b = draw.tensor(b.shape, kinds[1], 1, 5)
    reference = SYMBOLS.get(name, getattr(torch, name, None))
    order = 0 if name == "floor_divide" else 2
    pair = [a, b] if draw.chance(0.5) or name in ("pow", *WHOLE_QUOTIENTS) else [b, a]
    return Case(name, pair, reference, order=order, slack=64, local=name not in WHOLE_QUOTIENTS)


def with_number(draw, name):
    """A tensor and a number; of a comparison also one that the dtype does not hold."""
    dtype = draw.any_dtype()
    if dtype == "bool" and name in NOT_OF_BOOLEANS:
        dtype = "i64"
    number = draw.number(-3, 3) if dtype in FLOATS or draw.chance(0.3) else draw.integer(-3, 3)
    if isinstance(number, int) and dtype == "u8":
        number = abs(number)
    if name in SYMBOLS and draw.chance(0.5):
        number = draw.of([-1, 256, 2**31, -2**31 - 1, 0.5, -0.5, 1e10, 1.0, math.inf, -math.inf, math.nan])
    if name in WHOLE_QUOTIENTS:
        number = type(number)(draw.integer(1, 4))
    if name == "pow":
        number = draw.of([0, 1, 2, 3]) if isinstance(number, int) else draw.of([0.5, -0.5, 2.0, 3.0, -1.0, -2.0, 1.7])
    x = draw.tensor(draw.shape(), dtype, *((0.2, 4) if name == "pow" else (-4, 4)), special=name in SYMBOLS)
    if name in ("maximum", "minimum"):
        def reference(x, number):
            return getattr(torch, name)(x, torch.tensor(number, dtype=torch.result_type(x, number)))
    elif name in SYMBOLS and dtype not in FLOATS:
        def reference(x, number):  # exactly; PyTorch wraps the number, or rounds both to f32
            return SYMBOLS[name](x.double(), torch.tensor(float(number), dtype=torch.float64))
    else:
        reference = SYMBOLS.get(name, getattr(torch, name, None))
    order = 0 if name == "floor_divide" else 2
    if name in ("sub", "div") and draw.chance(0.4):
        return Case(name, [number, x], lambda a, x: a - x if name == "sub" else a / x, slack=64)
    return Case(name, [x, number], reference, order=order, slack=64)


@generator("lerp")
def lerp(draw, name):
    shape, dtype = draw.shape(), draw.float_dtype()
    a, b, w = (draw.tensor(s, dtype) for s in (shape, draw.broadcastable(shape), draw.broadcastable(shape)))
    return Case(name, [a, b, w], lambda a, b, w: a + w * (b - a))


@generator("where")
def where(draw, name):
    shape = draw.shape()
    kinds = [draw.any_dtype(), draw.any_dtype()]
    a, b = (draw.tensor(draw.broadcastable(shape), kind, special=True) for kind in kinds)
    return Case(name, [draw.tensor(shape, "bool"), a, b], torch.where)


@generator("masked_fill")
def masked_fill(draw, name):
    shape = draw.shape()
    x = draw.tensor(shape, draw.any_dtype())
    value = draw.number(-3, 3) if x.dtype in FLOATS else draw.integer(0, 1)
    if x.dtype == "bool":
        value = bool(value)
    return Case(name, [x, draw.tensor(draw.broadcastable(shape), "bool"), value],
                lambda x, mask, value: torch.where(mask, torch.tensor(value, dtype=x.dtype), x))
