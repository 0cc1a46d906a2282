#!/usr/bin/env python3
"""Writes muon.json: torch.optim.Muon on matrices of every form, with the gradients that it was given.

Run with a Python that has torch 2.9 or newer:  python tests/golden/muon.py
torch orthogonalises in bfloat16 whatever the parameters are; "parameters" come from the same program with
float64 in that place, "first_in_bf16" from torch as it is.
"""
import json
import pathlib
import types

import torch
import torch.optim._muon as program

torch.manual_seed(5)
STEPS = 6
SHAPES = ((5, 3), (3, 7), (4, 4), (1, 6))
CASES = {
    "default": {},
    "plain": dict(lr=0.1, momentum=0.8, nesterov=False, weight_decay=0.0, ns_steps=3),
    "match_rms_adamw": dict(lr=0.05, weight_decay=0.3, adjust_lr_fn="match_rms_adamw"),
    "spectral_unclamped": dict(lr=0.02, momentum=0.0, adjust_lr_fn="spectral_unclamped"),
}
WIDE = types.SimpleNamespace(**{**vars(torch), "bfloat16": torch.float64})


def tensor(t):
    return {"shape": list(t.shape), "values": t.detach().double().flatten().tolist()}


def run(options, starts, gradients, wide, steps):
    program.torch = WIDE if wide else torch
    leaves = [s.clone().requires_grad_() for s in starts]
    optimizer = torch.optim.Muon(leaves, **options)
    for step in range(steps):
        for leaf, gradient in zip(leaves, gradients[step]):
            leaf.grad = gradient.clone()
        optimizer.step()
    program.torch = torch
    return [tensor(leaf) for leaf in leaves]


starts = [torch.randn(s, dtype=torch.float64) for s in SHAPES]
gradients = [[torch.randn(s, dtype=torch.float64) for s in SHAPES] for _ in range(STEPS)]
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps({
    "torch": torch.__version__, "starts": [tensor(s) for s in starts],
    "gradients": [[tensor(g) for g in step] for step in gradients],
    "cases": {name: {"parameters": run(options, starts, gradients, True, STEPS),
                     "first_in_bf16": run(options, starts, gradients, False, 1)}
              for name, options in CASES.items()}}, indent=1) + "\n")
