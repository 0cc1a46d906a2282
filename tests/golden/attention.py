#!/usr/bin/env python3
"""Writes attention.json: what PyTorch says that attention and the layers of transformers give, and their gradients.

Run with a Python that has torch:  python tests/golden/attention.py
Each case has a layer's arguments, its state, its inputs, perhaps masks (true: may look), the output, and the gradients of
(output * weights).sum(), where weight i is 0.5 + 0.1 (i % 7). All is computed in float64, without dropout.
"""
import json
import pathlib

import torch
from torch import nn

torch.manual_seed(6)
torch.set_default_dtype(torch.float64)


def tensor(t):
    return {"shape": list(t.shape), "values": [float(f"{v:.14g}") for v in t.detach().flatten().tolist()]}


def coarse(*shape):
    return ((torch.rand(*shape) * 2 - 1) * 256).round() / 256


def case(layer, inputs, call, masks=(), **options):
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(coarse(*p.shape))
    layer.eval()
    inputs = {name: coarse(*shape).requires_grad_() for name, shape in inputs.items()}
    y = call(layer, **inputs)
    (y * (0.5 + 0.1 * (torch.arange(y.numel()) % 7)).reshape(y.shape)).sum().backward()
    return {"layer": type(layer).__name__, "options": options, "masks": {n: tensor(m.double()) for n, m in dict(masks).items()},
            "inputs": {n: tensor(x) for n, x in inputs.items()}, "output": tensor(y),
            "state": {n: tensor(p) for n, p in layer.state_dict().items()},
            "gradients": {n: tensor(x.grad) for n, x in inputs.items()}
                         | {n: tensor(p.grad) for n, p in layer.named_parameters()}}


look = torch.tensor([[1, 0, 0], [1, 1, 0], [0, 1, 1], [1, 1, 1]]).bool()
counts = torch.tensor([[1, 1, 0], [1, 1, 1]]).bool()
causal = torch.tril(torch.ones(4, 4)).bool()
heads = lambda **o: nn.MultiheadAttention(6, 2, dropout=0.0, **o)
layer = lambda kind, **o: kind(4, 2, dim_feedforward=5, dropout=0.0, **o)
cases = [
    case(heads(), {"query": (4, 2, 6), "key": (3, 2, 6), "value": (3, 2, 6)}, lambda m, query, key, value: m(query, key, value)[0]),
    case(heads(batch_first=True, bias=False), {"x": (2, 4, 6)}, lambda m, x: m(x, x, x)[0], batch_first=True, bias=False),
    case(heads(), {"query": (4, 2, 6), "key": (3, 2, 6), "value": (3, 2, 6)},
         lambda m, query, key, value: m(query, key, value, attn_mask=~look, key_padding_mask=~counts)[0],
         {"mask": look, "padding": counts}),
    case(heads(batch_first=True), {"x": (2, 4, 6)}, lambda m, x: m(x, x, x, attn_mask=~causal)[0], causal=True, batch_first=True),
    case(layer(nn.TransformerEncoderLayer), {"x": (3, 2, 4)}, lambda m, x: m(x)),
    case(layer(nn.TransformerEncoderLayer, norm_first=True, batch_first=True, activation="gelu"), {"x": (2, 3, 4)},
         lambda m, x: m(x), norm_first=True, batch_first=True, gelu=True),
    case(layer(nn.TransformerDecoderLayer), {"x": (3, 2, 4), "memory": (5, 2, 4)}, lambda m, x, memory: m(x, memory)),
    case(layer(nn.TransformerDecoderLayer, norm_first=True, batch_first=True), {"x": (2, 4, 4), "memory": (2, 3, 4)},
         lambda m, x, memory: m(x, memory, tgt_mask=~causal), causal=True, norm_first=True, batch_first=True),
    case(nn.TransformerEncoder(layer(nn.TransformerEncoderLayer, norm_first=True, batch_first=True), 2, nn.LayerNorm(4),
                               enable_nested_tensor=False),
         {"x": (2, 3, 4)}, lambda m, x: m(x, src_key_padding_mask=~counts), {"padding": counts}, norm_first=True,
         batch_first=True, norm=True),
    case(nn.TransformerEncoder(layer(nn.TransformerEncoderLayer), 2), {"x": (3, 2, 4)}, lambda m, x: m(x), norm=False),
    case(nn.TransformerDecoder(layer(nn.TransformerDecoderLayer, batch_first=True), 2, nn.LayerNorm(4)),
         {"x": (2, 4, 4), "memory": (2, 3, 4)}, lambda m, x, memory: m(x, memory, tgt_mask=~causal), causal=True,
         batch_first=True, norm=True),
]
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps({"torch": torch.__version__, "cases": cases}) + "\n")
