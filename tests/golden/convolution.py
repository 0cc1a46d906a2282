#!/usr/bin/env python3
"""Writes convolution.json: what PyTorch says that convolutional layers give, and their gradients.

Run with a Python that has torch:  python tests/golden/convolution.py
Each case has a layer's arguments, its state, an input, the output, and the gradients of (output * weights).sum(),
where weight i is 0.5 + 0.1 (i % 7). All is computed in float64; inputs have few digits, so that the file stays small.
"""
import json
import pathlib

import torch
from torch import nn

torch.manual_seed(2)
torch.set_default_dtype(torch.float64)


def tensor(t):
    return {"shape": list(t.shape), "values": [float(f"{v:.14g}") for v in t.detach().flatten().tolist()]}


def coarse(t):
    return (t * 256).round() / 256


def case(layer, *shape):
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(coarse(p))
    x = coarse(torch.rand(*shape) * 2 - 1).requires_grad_()
    y = layer(x)
    (y * (0.5 + 0.1 * (torch.arange(y.numel()) % 7)).reshape(y.shape)).sum().backward()
    listed = lambda v: v if isinstance(v, str) else list(v)
    options = {"stride": listed(layer.stride), "padding": listed(layer.padding), "dilation": listed(layer.dilation),
               "groups": layer.groups, "padding_mode": layer.padding_mode, "bias": layer.bias is not None,
               "output_padding": list(layer.output_padding)}
    return {"layer": type(layer).__name__, "in": layer.in_channels, "out": layer.out_channels,
            "kernel": list(layer.kernel_size), "options": options, "x": tensor(x), "output": tensor(y),
            "state": {n: tensor(p) for n, p in layer.state_dict().items()},
            "gradients": {"x": tensor(x.grad)} | {n: tensor(p.grad) for n, p in layer.named_parameters()}}


cases = [
    case(nn.Conv1d(2, 3, 3), 2, 2, 9),
    case(nn.Conv1d(2, 4, 4, padding="same", dilation=2, groups=2), 2, 2, 8),
    case(nn.Conv1d(1, 2, 3, padding=2, padding_mode="replicate"), 1, 1, 5),
    case(nn.Conv2d(1, 6, 5, padding=2), 2, 1, 8, 8),
    case(nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2), 2, 4, 7, 6),
    case(nn.Conv2d(3, 6, 3, padding=1, groups=3, bias=False), 3, 5, 4),
    case(nn.Conv2d(2, 2, 3, padding=2, padding_mode="reflect"), 1, 2, 4, 5),
    case(nn.Conv2d(2, 2, (2, 3), padding="same", padding_mode="circular"), 1, 2, 4, 3),
    case(nn.Conv2d(2, 3, 2, padding="valid"), 1, 2, 3, 4),
    case(nn.Conv3d(2, 3, (2, 3, 2), stride=(1, 2, 1), padding=1), 1, 2, 3, 4, 3),
    case(nn.ConvTranspose1d(2, 3, 4, stride=3, padding=1, output_padding=2), 2, 2, 5),
    case(nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2), 2, 4, 4, 3),
    case(nn.ConvTranspose2d(2, 2, (2, 3), dilation=2, bias=False), 2, 3, 4),
    case(nn.ConvTranspose3d(2, 2, 2, stride=(2, 1, 2)), 1, 2, 2, 3, 2),
]
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps({"torch": torch.__version__, "cases": cases}) + "\n")
