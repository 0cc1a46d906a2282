#!/usr/bin/env python3
"""Writes embedding.json: what PyTorch says that Embedding gives, and its gradient; and AlphaDropout's numbers.

Run with a Python that has torch:  python tests/golden/embedding.py
Each case has a table, indices, the output, and the gradient of (output * weights).sum(), where weight i is
0.5 + 0.1 (i % 7). All is computed in float64.
"""
import json
import pathlib

import torch
from torch import nn

torch.manual_seed(4)
torch.set_default_dtype(torch.float64)


def tensor(t):
    return {"shape": list(t.shape), "values": [float(f"{v:.14g}") for v in t.detach().flatten().tolist()]}


def case(index, *sizes, padding_idx=None):
    layer = nn.Embedding(*sizes, padding_idx=padding_idx)
    with torch.no_grad():
        layer.weight.copy_((torch.rand(*sizes) * 256).round() / 256)
    index = torch.tensor(index)
    y = layer(index)
    (y * (0.5 + 0.1 * (torch.arange(y.numel()) % 7)).reshape(y.shape)).sum().backward()
    return {"sizes": list(sizes), "padding_idx": padding_idx, "index": tensor(index), "weight": tensor(layer.weight),
            "output": tensor(y), "gradient": tensor(layer.weight.grad)}


def alpha_values(p):
    """What becomes of 1 and of 0 where they are dropped and where they are not, sorted."""
    x = torch.cat([torch.ones(1000), torch.zeros(1000)])
    return {"p": p, "values": sorted(set(float(f"{v:.14g}") for v in nn.AlphaDropout(p)(x).tolist()))}


cases = [
    case([[1, 3, 1], [0, 4, 4]], 5, 3),
    case([2, 0, 2, 1], 4, 2, padding_idx=2),
    case([[3], [1]], 4, 2, padding_idx=-1),
    case(1, 2, 3),
]
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps({"torch": torch.__version__, "cases": cases,
                            "alpha_dropout": [alpha_values(0.25), alpha_values(0.5)]}) + "\n")
