#!/usr/bin/env python3
"""Writes recurrent.json: what PyTorch says that RNN, LSTM and GRU give, and their gradients.

Run with a Python that has torch:  python tests/golden/recurrent.py
Each case has a layer's arguments, its state, an input, perhaps first states and lengths, the output and last states,
and the gradients of the sum of (result * weights).sum() over all results, where weight i is 0.5 + 0.1 (i % 7). With
lengths, the input is packed, and the output padded to the input's steps. All is computed in float64; inputs have few
digits, so that the file stays small.
"""
import json
import pathlib

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch.manual_seed(5)
torch.set_default_dtype(torch.float64)


def tensor(t):
    return {"shape": list(t.shape), "values": [float(f"{v:.14g}") for v in t.detach().flatten().tolist()]}


def coarse(*shape):
    return ((torch.rand(*shape) * 2 - 1) * 256).round() / 256


def weighted(y):
    return (y * (0.5 + 0.1 * (torch.arange(y.numel()) % 7)).reshape(y.shape)).sum()


def case(layer, *shape, begin=False, lengths=None):
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(coarse(*p.shape))
    x = coarse(*shape).requires_grad_()
    states = {}
    if begin:
        rows = layer.num_layers * (2 if layer.bidirectional else 1)
        batch = [] if len(shape) == 2 else [shape[0 if layer.batch_first else 1]]
        names = ["h", "c"] if isinstance(layer, nn.LSTM) else ["h"]
        states = {n: coarse(rows, *batch, layer.hidden_size).requires_grad_() for n in names}
    first = None if not begin else tuple(states.values()) if "c" in states else states["h"]
    given = x
    if lengths:
        given = pack_padded_sequence(x, torch.tensor(lengths), layer.batch_first, enforce_sorted=False)
    y, last = layer(given, first)
    if lengths:
        y, _ = pad_packed_sequence(y, layer.batch_first, total_length=shape[1 if layer.batch_first else 0])
    last = dict(zip("hc", last)) if isinstance(last, tuple) else {"h": last}
    (weighted(y) + sum(weighted(s) for s in last.values())).backward()
    options = {n: getattr(layer, n) for n in ["num_layers", "bias", "batch_first", "bidirectional"]}
    options["nonlinearity"] = getattr(layer, "nonlinearity", None)
    return {"layer": type(layer).__name__, "in": layer.input_size, "hidden": layer.hidden_size, "options": options,
            "x": tensor(x), "first": {n: tensor(s) for n, s in states.items()}, "lengths": lengths,
            "output": tensor(y), "last": {n: tensor(s) for n, s in last.items()},
            "state": {n: tensor(p) for n, p in layer.state_dict().items()},
            "gradients": {"x": tensor(x.grad)} | {n: tensor(s.grad) for n, s in states.items()}
                         | {n: tensor(p.grad) for n, p in layer.named_parameters()}}


cases = [
    case(nn.RNN(2, 3), 4, 2, 2),
    case(nn.RNN(2, 3, nonlinearity="relu", bias=False), 3, 2, 2, begin=True),
    case(nn.RNN(1, 2, num_layers=2, bidirectional=True, batch_first=True), 2, 3, 1, lengths=[3, 1]),
    case(nn.LSTM(2, 3), 5, 2, 2),
    case(nn.LSTM(2, 2, num_layers=2, bidirectional=True, batch_first=True), 2, 3, 2, begin=True),
    case(nn.LSTM(2, 2, num_layers=2, bidirectional=True), 4, 3, 2, begin=True, lengths=[2, 4, 1]),
    case(nn.LSTM(1, 2, bias=False, batch_first=True), 3, 1, begin=True),
    case(nn.GRU(2, 3), 5, 2, 2),
    case(nn.GRU(2, 2, num_layers=3, batch_first=True), 2, 3, 2, begin=True),
    case(nn.GRU(2, 2, num_layers=2, bidirectional=True), 4, 3, 2, begin=True, lengths=[3, 1, 3]),
    case(nn.GRU(2, 2, bidirectional=True, bias=False), 3, 2),
]
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps({"torch": torch.__version__, "cases": cases}) + "\n")
