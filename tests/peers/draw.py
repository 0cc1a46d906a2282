"""What a case is made of: random numbers, shapes, dtypes, and tensors that lie in memory in any way."""
import dataclasses

import numpy as np
import torch

FLOATS = ["f64", "f32", "bf16", "f16"]
WHOLE = ["i64", "i32", "u8"]
DTYPES = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16, "f16": torch.float16,
          "i64": torch.int64, "i32": torch.int32, "u8": torch.uint8, "bool": torch.bool}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
SPECIALS = [0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), float("nan"), 1e-40, 1e30, -1e30, 1e-10]


@dataclasses.dataclass(eq=False)
class Input:
    """A tensor: one-dimensional memory, and how it is looked at."""
    memory: torch.Tensor
    shape: list
    strides: list
    offset: int
    grad: bool = False

    def torch(self, dtype=None):
        """A leaf of PyTorch; in `dtype`, if it holds floats."""
        memory = self.memory.to(dtype) if dtype is not None and self.memory.is_floating_point() else self.memory
        leaf = memory.as_strided(self.shape, self.strides, self.offset)
        return leaf.detach().requires_grad_() if self.grad else leaf

    @property
    def dtype(self):
        return NAMES[self.memory.dtype]


def packed(values, grad=False):
    """An Input over a tensor of PyTorch."""
    values = values.detach().contiguous()
    return Input(values.reshape(-1), list(values.shape), list(values.stride()), 0, grad)


class Draw:
    """Random choices of one case: the same for the same seed."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def chance(self, p):
        return bool(self.rng.random() < p)

    def integer(self, low, high):
        """low .. high, both included."""
        return int(self.rng.integers(low, high + 1))

    def number(self, low, high):
        return float(self.rng.uniform(low, high))

    def of(self, choices):
        return choices[int(self.rng.integers(len(choices)))]

    def some(self, choices):
        """Each of the choices or not, in a random order."""
        chosen = [c for c in choices if self.chance(0.5)]
        return [chosen[i] for i in self.rng.permutation(len(chosen))]

    def float_dtype(self):
        return self.of(["f64", "f64", "f32", "f32", "bf16", "f16"])

    def any_dtype(self):
        return self.float_dtype() if self.chance(0.7) else self.of(WHOLE + ["bool"])

    def shape(self, low=0, high=4, most=5, empty=0.03):
        """A shape of rank low .. high; now and then with one large size, now and then without elements."""
        sizes = [self.integer(1, most) for _ in range(self.integer(low, high))]
        if sizes and self.chance(0.1):
            sizes[self.integer(0, len(sizes) - 1)] = self.integer(30, 150)
        if sizes and self.chance(empty):
            sizes[self.integer(0, len(sizes) - 1)] = 0
        return sizes

    def dim(self, rank):
        """A dimension of a tensor of this rank, which may count from the end; of a number's, 0 or -1."""
        return self.integer(-max(rank, 1), max(rank, 1) - 1)

    def dims(self, rank):
        """Several, each once; none means all."""
        return [d - rank if self.chance(0.3) else d for d in self.some(range(rank))]

    def broadcastable(self, shape):
        """A shape that broadcasts with this one."""
        sizes = [1 if self.chance(0.25) else s for s in shape]
        return sizes[self.integer(0, len(sizes)):] if self.chance(0.3) else sizes

    def values(self, count, dtype, low, high, special):
        """Numbers of the memory; a part of the draws has ties and, where it is allowed, what is not finite."""
        if dtype == "bool":
            return torch.from_numpy(self.rng.random(count) < 0.5)
        if dtype in WHOLE:
            low, high = int(np.ceil(low)), int(np.floor(high))
            return torch.from_numpy(self.rng.integers(max(low, 0) if dtype == "u8" else low, max(high, 1) + 1,
                                                      count)).to(DTYPES[dtype])
        numbers = self.rng.uniform(low, high, count)
        if self.chance(0.15):  # ties, zeros, and what lies on the bounds of piecewise functions
            numbers = np.clip(np.round(numbers * 2) / 2, np.ceil(low * 2) / 2, np.floor(high * 2) / 2)
        if special and self.chance(0.15):
            at = self.rng.random(count) < 0.3
            numbers = np.where(at, self.rng.choice(SPECIALS, count), numbers)
        return torch.from_numpy(numbers).to(DTYPES[dtype])

    def strides(self, shape, repeated):
        """Strides and offset of a tensor of this shape, and how many numbers its memory has."""
        order = self.rng.permutation(len(shape)) if self.chance(0.5) else np.arange(len(shape))[::-1]
        strides, step = [0] * len(shape), 1
        for d in order:
            gap = self.integer(2, 3) if self.chance(0.15) else 1
            strides[d] = step * gap
            if repeated and self.chance(0.06):
                strides[d] = 0
                continue
            step *= max(shape[d], 1) * gap
        offset = self.integer(0, 3) if self.chance(0.3) else 0
        last = sum((s - 1) * stride for s, stride in zip(shape, strides)) if 0 not in shape else 0
        return strides, offset, offset + last + 1

    def tensor(self, shape, dtype, low=-3, high=3, special=False, grad=True, repeated=True):
        """An Input in any layout; with a gradient, if it can have one."""
        if self.chance(0.4):
            strides, offset = list(torch.empty(shape, device="meta").stride()), 0
            count = int(np.prod(shape))
        else:
            strides, offset, count = self.strides(shape, repeated)
        memory = self.values(count, dtype, low, high, special)
        return Input(memory, list(shape), strides, offset, grad and dtype in FLOATS)

    def index(self, shape, size):
        """Positions 0 .. size - 1."""
        values = torch.from_numpy(self.rng.integers(0, max(size, 1), shape))
        return packed(values)
