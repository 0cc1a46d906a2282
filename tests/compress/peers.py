"""What torch.nn.utils.prune and torch's losses make of the tensors in a file, for peers_test.cpp.

    peers.py IN OUT      both safetensors
"""
import sys

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn.utils import prune

given = load_file(sys.argv[1])
out = {}


class Holder(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = nn.Parameter(weight.clone())


names = ["a", "b", "c"]
for share in (0.25, 0.5, 0.9):
    for name in names:
        held = Holder(given[name])
        prune.l1_unstructured(held, "weight", amount=share)
        out[f"layer.{share}.{name}"] = held.weight_mask
    all_held = [Holder(given[name]) for name in names]
    prune.global_unstructured(
        [(held, "weight") for held in all_held], pruning_method=prune.L1Unstructured, amount=share
    )
    for name, held in zip(names, all_held):
        out[f"network.{share}.{name}"] = held.weight_mask
    held = Holder(given["b"])  # whole filters by their norm
    prune.ln_structured(held, "weight", amount=share, n=2, dim=0)
    out[f"filters.{share}"] = held.weight_mask.flatten(1)[:, 0].contiguous()

student = given["student"].clone().requires_grad_(True)
temperature = 3.0
loss = (
    nn.functional.kl_div(
        torch.log_softmax(student / temperature, 1),
        torch.log_softmax(given["teacher"] / temperature, 1),
        reduction="batchmean",
        log_target=True,
    )
    * temperature**2
)
loss.backward()
out["loss"], out["gradient"] = loss.detach().reshape(1), student.grad
save_file({name: tensor.float() for name, tensor in out.items()}, sys.argv[2])
