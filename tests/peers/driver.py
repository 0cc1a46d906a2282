#!/usr/bin/env python3
"""Random cases of Veldt's ops, each computed by PyTorch too: values, gradients, and second derivatives.

usage: driver.py OPS_SERVER [--cases N] [--seed S] [--only PART] [--threads N] [--stop N]

Case i of a run has the seed S + i and nothing else, so `--seed THAT --cases 1` runs it again by itself. --only takes
ops whose name has PART in it. Stops after --stop differences (20). What differs and may is listed in choices.py, each
with its reason. Needs torch and numpy.
"""
import argparse
import collections
import inspect
import json
import math
import pathlib
import subprocess
import sys
import time
import warnings

import numpy as np
import torch

import elementwise_cases  # noqa: F401: the generators
import layer_cases  # noqa: F401
import loss_cases  # noqa: F401
import tensor_cases  # noqa: F401
from case import GENERATORS, replaced
from choices import ELEMENTWISE, chosen, forgotten
from draw import DTYPES, Draw, Input, packed


class Server:
    """The program that runs Veldt's side."""

    def __init__(self, path, threads):
        self.process = subprocess.Popen([path, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ops = json.loads(self.line())

    def line(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the server ended with status {self.process.wait()}")
        return line

    def call(self, case, seeds, second_seeds):
        """Values, first and second derivatives as lists of tensors, or what was wrong with the call."""
        inputs = case.inputs()
        body = []

        def form(tensor):
            if tensor is None:
                return None
            memory = tensor.memory
            body.append((memory.view(torch.int16) if memory.dtype == torch.bfloat16 else memory).numpy().tobytes())
            return {"dtype": tensor.dtype, "count": memory.numel(), "shape": tensor.shape,
                    "strides": tensor.strides, "offset": tensor.offset, "grad": tensor.grad}
        message = {"op": case.op, "arguments": named(case.arguments, inputs), "tensors": [form(t) for t in inputs],
                   "seeds": [form(t) for t in seeds], "second_seeds": [form(t) for t in second_seeds]}
        self.process.stdin.write(json.dumps(message).encode() + b"\n" + b"".join(body))
        self.process.stdin.flush()
        answer = json.loads(self.line())
        if "error" in answer:
            return answer["error"]
        return [[self.tensor(t) for t in answer[part]] for part in ("values", "first", "second")]

    def tensor(self, form):
        dtype = DTYPES[form["dtype"]]
        count = math.prod(form["shape"]) * dtype.itemsize
        data = bytearray(self.process.stdout.read(count))
        values = torch.frombuffer(data, dtype=dtype) if count else torch.empty(0, dtype=dtype)
        return values.reshape(form["shape"])


def named(arguments, inputs):
    def spelled(value):
        if isinstance(value, float) and not math.isfinite(value):
            return str(value)  # JSON has none
        if isinstance(value, dict):
            return {name: spelled(each) for name, each in value.items()}
        return [spelled(each) for each in value] if isinstance(value, (list, tuple)) else value
    return spelled(replaced(arguments, lambda t: {"tensor": inputs.index(t)}))


def listed(result):
    return [result] if isinstance(result, torch.Tensor) else list(result)


class Reference:
    """What PyTorch makes of a case, in its own dtypes or all floats in f64."""

    def __init__(self, case, dtype=None):
        inputs = case.inputs()
        self.leaves = [t.torch(dtype) for t in inputs]
        table = dict(zip(map(id, inputs), self.leaves))
        self.values = listed(case.reference(*replaced(case.arguments, lambda t: table[id(t)])))
        self.first, self.second = [], []

    def differentiate(self, seeds, second_seeds):
        wanted = [leaf for leaf in self.leaves if leaf.requires_grad]
        pairs = [(v, s.torch().to(v.dtype)) for v, s in zip(self.values, seeds) if s is not None]
        if not pairs or not wanted:
            return
        twice = bool(second_seeds)
        self.first = list(gradients(pairs, wanted, twice))
        pairs = [(g, s.torch().to(g.dtype)) for g, s in zip(self.first, second_seeds) if g.requires_grad]
        if twice:
            self.second = list(gradients(pairs, wanted, False)) if pairs else [torch.zeros_like(t) for t in wanted]


def gradients(pairs, wanted, create_graph):
    outputs, seeds = zip(*pairs)
    return torch.autograd.grad(outputs, wanted, seeds, create_graph=create_graph, allow_unused=True,
                               materialize_grads=True)


def seeds_for(draw, tensors, wanted):
    return [packed(draw.values(t.numel(), "f64", -1, 1, False).reshape(t.shape).to(t.dtype)) if wanted(t) else None
            for t in tensors]


def agree(ours, theirs, tolerance, size):
    """Where two tensors of one shape agree, element by element: to `tolerance` of their own size and of `size`."""
    if not theirs.is_floating_point():
        return ours == theirs
    a, b = ours.double(), theirs.double()
    slack = tolerance * (b.abs().nan_to_num(0, 0, 0) + size)
    slack = slack + torch.finfo(ours.dtype).tiny * 4
    return (a == b) | (a.isnan() & b.isnan()) | ((a - b).abs() <= slack)


def largest_number(case, results):
    """The largest of the inputs and results, where any of them may be in each result."""
    sizes = [float(t.memory.double().abs().nan_to_num(0, 0, 0).max()) for t in case.inputs()
             if t.memory.is_floating_point() and t.memory.numel()]
    reach = results.double().abs().nan_to_num(0, 0, 0)
    return max([1.0, *sizes, *([float(reach.max())] if reach.numel() else [])])


def own_numbers(case):
    """The number that each result of a function of one tensor is made of."""
    return case.inputs()[0].torch().detach().double().abs().nan_to_num(1, 1, 1).clamp(min=1)


class Comparison:
    """One case run by both sides. `difference` says what differs, and is empty where nothing does."""

    def __init__(self, server, seed, only):
        self.draw = Draw(seed)
        self.name = self.draw.of([name for name in sorted(GENERATORS) if only in name])
        self.case = GENERATORS[self.name](self.draw, self.name)
        self.exact = None
        self.difference = self.compare(server)

    def compare(self, server):
        try:
            self.theirs = Reference(self.case)
            refusal = ""
        except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError) as error:
            refusal = str(error).split("\n")[0]
        if "not implemented for" in refusal or "Unsupported memory format" in refusal:
            return ""  # PyTorch has no kernel for the dtype
        if refusal:
            answer = server.call(self.case, [], [])
            return "" if isinstance(answer, str) else self.unless_chosen("refused by PyTorch", f"PyTorch refuses it: {refusal}")
        self.seeds = seeds_for(self.draw, self.theirs.values, lambda t: t.requires_grad and self.case.order > 0)
        halves = any(t.dtype in ("bf16", "f16") for t in self.case.inputs())
        self.second_seeds = []
        if self.case.order > 1 and not halves and self.draw.chance(0.4):
            leaves = [t for t in self.theirs.leaves if t.requires_grad]
            self.second_seeds = seeds_for(self.draw, leaves, lambda t: True)
        if not self.differentiated():  # PyTorch has not every second derivative, nor every first
            self.second_seeds = []
            if not self.differentiated():
                self.seeds = []
        answer = server.call(self.case, self.seeds, self.second_seeds)
        if isinstance(answer, str):
            return self.unless_chosen("refused by Veldt", f"Veldt refuses it: {answer}")
        for part, ours in zip(("values", "first", "second"), answer):
            difference = self.compare_part(part, ours, getattr(self.theirs, part))
            if difference:
                return difference
        return ""

    def differentiated(self):
        try:
            self.theirs.differentiate(self.seeds, self.second_seeds)
            return True
        except RuntimeError:
            self.theirs = Reference(self.case)
            return False

    def compare_part(self, part, ours, theirs):
        if len(ours) != len(theirs):
            return self.unless_chosen(part, f"{len(ours)} results, PyTorch has {len(theirs)}")
        for i, (a, b) in enumerate(zip(ours, theirs)):
            if a.shape != b.shape or a.dtype != b.dtype:
                return self.unless_chosen("dtype" if a.shape == b.shape else part,
                                          f"{a.dtype} {list(a.shape)}, PyTorch has {b.dtype} {list(b.shape)}")
            b = b.detach()
            if a.equal(b):
                continue
            good = self.near(part, i, a, b)
            if bool(good.all()):
                continue
            good |= self.near(part, i, a, self.in_f64(part)[i].detach().to(a.dtype))
            if not bool(good.all()) and not chosen(self.case, part, ~good, a, b):
                at = int((~good).reshape(-1).nonzero()[0])
                given = [t.torch().detach().reshape(-1)[at].item() for t in self.case.inputs()
                         if list(a.shape) == t.shape]
                return (f"{part} {i} at {at} of {list(a.shape)} {a.dtype}: {a.reshape(-1)[at].item()!r}, PyTorch "
                        f"{b.reshape(-1)[at].item()!r}, in f64 {self.in_f64(part)[i].reshape(-1)[at].item()!r}, "
                        f"where the inputs are {given}")
        return ""

    def near(self, part, i, a, b):
        case = self.case
        if not a.is_floating_point():
            return agree(a, b, 0, 0)
        order = {"values": 1, "first": 4, "second": 32}[part]
        coarse = min((t.memory.dtype for t in case.inputs() if t.memory.is_floating_point()), default=a.dtype,
                     key=lambda dtype: -torch.finfo(dtype).eps)
        eps = max(torch.finfo(a.dtype).eps, torch.finfo(coarse).eps)
        if case.local and part == "values":
            size = 0
        else:
            size = own_numbers(case) if case.op in ELEMENTWISE else largest_number(case, b)
        return agree(a, b, case.slack * order * eps, size)

    def in_f64(self, part):
        if self.exact is None:
            self.exact = Reference(self.case, torch.float64)
            self.exact.differentiate(self.seeds, self.second_seeds)
        return getattr(self.exact, part)

    def unless_chosen(self, part, text):
        return "" if chosen(self.case, part) else text


def described(case):
    def spelled(t):
        return f"{t.dtype}{t.shape}" + (f" by {t.strides} from {t.offset}" if t.strides else "")
    text = ", ".join(str(replaced([a], spelled)[0]) for a in case.arguments)
    values = [f"    {spelled(t)}: {t.torch().detach().flatten().tolist()}" for t in case.inputs()
              if math.prod(t.shape) <= 12]
    return "\n".join([f"    {case.op}({text})", *values])


def main():
    parser = argparse.ArgumentParser(description=inspect.getdoc(sys.modules[__name__]),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server")
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--stop", type=int, default=20)
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    server = Server(options.server, options.threads)
    missing = forgotten(pathlib.Path(__file__).parents[2], set(server.ops) & set(GENERATORS))
    if missing:
        sys.exit(f"no case is made of {', '.join(missing)}: add a call and a generator, or a reason to choices.py")
    start, found, count = time.monotonic(), collections.Counter(), 0
    for count, seed in enumerate(range(options.seed, options.seed + options.cases), 1):
        comparison = Comparison(server, seed, options.only)
        if comparison.difference:
            found[comparison.name] += 1
            print(f"seed {seed}: {comparison.name}: {comparison.difference}\n{described(comparison.case)}", flush=True)
            if found.total() >= options.stop:
                break
    print(f"{count} cases of {len(GENERATORS)} ops from seed {options.seed} on, PyTorch {torch.__version__}, "
          f"{time.monotonic() - start:.0f} s: {found.total()} differences {dict(found) if found else ''}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
