#!/usr/bin/env python3
"""recipes/cifar10_fast.toml in PyTorch: the same files, network, first values, schedule and views of the test pictures.

usage: cifar.py DIR [--epochs 12] [--seed S] [--width 64] [--threads 2] [--device cpu|cuda] [--steps N] [--planes]

DIR has train/CLASS/*.jpg and test/CLASS/*.jpg. All pictures are in memory as bytes before the clock starts, and are augmented as
whole batches. Prints the milliseconds of a step (median) and the share of the test set that is right. --steps ends after that
many steps: to measure a step. On a CPU channels are last, unless --planes: it is the faster for PyTorch. A step beside Veldt's,
in turn: training.py BENCH_TRAINING --cases cifar10_fast.
"""
import argparse
import statistics
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch import nn

BATCH, LR, HEAD_LR, MOMENTUM, DECAY, WARMUP = 512, 0.75, 0.01, 0.85, 1.3e-3, 240
MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.247, 0.2435, 0.2616)


def read(folder):
    """[N, 3, 32, 32] bytes and [N] classes, in the order of names."""
    pictures, classes = [], []
    for number, of_class in enumerate(sorted(path for path in folder.iterdir() if path.is_dir())):
        for path in sorted(of_class.iterdir()):
            pictures.append(np.asarray(Image.open(path).convert("RGB")).transpose(2, 0, 1))
            classes.append(number)
    return torch.from_numpy(np.stack(pictures)), torch.tensor(classes)


def prepared(pictures):
    mean, deviation = (torch.tensor(v, device=pictures.device).view(1, 3, 1, 1) for v in (MEAN, DEVIATION))
    return (pictures.float() / 255 - mean) / deviation


def augmented(pictures):
    """Half of them mirrored, each moved by up to two pixels, edges reflected."""
    n, device = len(pictures), pictures.device
    mirrored = torch.rand(n, 1, 1, 1, device=device) < 0.5
    padded = F.pad(torch.where(mirrored, pictures.flip(3), pictures), (2, 2, 2, 2), mode="reflect")
    down, right = (torch.randint(0, 5, (n, 1), device=device) + torch.arange(32, device=device) for _ in range(2))
    return padded[torch.arange(n, device=device).view(n, 1, 1, 1), torch.arange(3, device=device).view(1, 3, 1, 1),
                  down.view(n, 1, 32, 1), right.view(n, 1, 1, 32)]


class Whitening(nn.Module):
    def __init__(self, pictures, kernel=2, eps=5e-4):
        super().__init__()
        patches = F.unfold(pictures.double().cpu(), kernel).transpose(1, 2).reshape(-1, 3 * kernel**2)
        values, vectors = torch.linalg.eigh(patches.T @ patches / len(patches))
        rows = ((vectors / (values + eps).sqrt()).T.flip(0)).float().view(-1, 3, kernel, kernel)
        self.register_buffer("weight", torch.cat([rows, -rows]))
        self.bias = nn.Parameter(torch.zeros(len(self.weight)))

    def forward(self, x):
        return F.conv2d(x, self.weight, self.bias)


def convolution(inputs, outputs):
    made = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
    nn.init.dirac_(made.weight.data[: min(inputs, outputs)])
    return made


def norm(channels):
    made = nn.BatchNorm2d(channels)
    made.weight.requires_grad_(False)
    return made


def network(pictures, width):
    layers, inputs = [Whitening(pictures), nn.GELU()], 24
    for outputs in (width, 4 * width, 4 * width):
        layers += [convolution(inputs, outputs), nn.MaxPool2d(2), norm(outputs), nn.GELU(),
                   convolution(outputs, outputs), norm(outputs), nn.GELU()]
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(inputs, 10, bias=False))


def judged(net, x):
    """The mean over six views."""
    def both(views):
        return (net(views) + net(views.flip(3))) / 2

    padded = F.pad(x, (1, 1, 1, 1), mode="reflect")
    return both(x) / 2 + (both(padded[:, :, :-2, :-2]) + both(padded[:, :, 2:, 2:])) / 4


def side(share):
    """Of the pictures after that share of the steps: a half, three quarters, and for the last 0.4 of them the whole."""
    scale = 0.5 + 0.5 * share / 0.6
    return 32 if share >= 0.6 else int(32 * scale + 1e-9) // 8 * 8


def rate(step, steps):
    """Of the highest: up over WARMUP steps, then down to 0."""
    if step < WARMUP:
        return (step + 1) / (WARMUP + 1)
    return 1 - (step - WARMUP) / (steps - WARMUP)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    for flag, default in (("epochs", 12), ("seed", 1), ("width", 64), ("threads", 2), ("steps", 0)):
        parser.add_argument(f"--{flag}", type=int, default=default)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--planes", action="store_true")
    o = parser.parse_args()
    torch.set_num_threads(o.threads)
    torch.manual_seed(o.seed)
    (pictures, labels), (test, answers) = ([t.to(o.device) for t in read(o.data / part)] for part in ("train", "test"))
    order = torch.Generator().manual_seed(o.seed)
    net = network(prepared(pictures[torch.randperm(len(pictures), generator=order)[:512]]), o.width).to(o.device)
    form = torch.contiguous_format if o.planes else torch.channels_last
    net = net.to(memory_format=form)
    head = list(net[-1].parameters())
    body = [p for p in net.parameters() if p.requires_grad and all(p is not other for other in head)]
    sgd = torch.optim.SGD([{"params": body, "lr": LR}, {"params": head, "lr": HEAD_LR}], LR, momentum=MOMENTUM,
                          weight_decay=DECAY, nesterov=True, fused=True)
    highest = [group["lr"] for group in sgd.param_groups]
    per_epoch = len(pictures) // BATCH
    steps, step, times, start = o.epochs * per_epoch, 0, [], time.perf_counter()
    while step < steps and not (o.steps and step >= o.steps):
        if step % per_epoch == 0:
            places = torch.randperm(len(pictures), generator=order).to(o.device)
        begin = time.perf_counter()
        at = places[step % per_epoch * BATCH :][:BATCH]
        x = augmented(prepared(pictures[at]))
        if side(step / steps) < 32:
            x = F.interpolate(x, size=side(step / steps), mode="bilinear")
        x = x.contiguous(memory_format=form)
        loss = F.cross_entropy(net(x), labels[at], label_smoothing=0.2)
        sgd.zero_grad()
        loss.backward()
        for group, high in zip(sgd.param_groups, highest):
            group["lr"] = high * rate(step, steps)
        sgd.step()
        times.append(1e3 * (time.perf_counter() - begin))
        step += 1
    if o.device == "cuda":
        torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    with torch.no_grad():
        net.eval()
        right = sum((judged(net, prepared(test[i : i + 500])).argmax(1) == answers[i : i + 500]).sum().item()
                    for i in range(0, len(test), 500))
    print(f"PyTorch {torch.__version__}, {o.device}, seed {o.seed}: {step} steps in {seconds:.1f} s, "
          f"{statistics.median(times):.1f} ms a step, loss {loss.item():.4f}, test accuracy {right / len(test):.4f}")


main()
