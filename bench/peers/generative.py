#!/usr/bin/env python3
"""The networks of examples/vae.cpp and examples/diffusion.cpp in PyTorch, trained in the same way on the same files.

    generative.py vae|diffusion FOLDER EPOCHS SAMPLES.npy [--width N] [--device cuda]

FOLDER holds the four files of MNIST, compressed or not. Writes 10,000 digits, u8 [n, 28, 28], for example_frechet, and
prints seconds and losses of each epoch. Needs torch and numpy.
"""
import argparse
import gzip
import math
import pathlib
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(2)
torch.manual_seed(1)


def idx(folder, name):
    path = pathlib.Path(folder) / name
    data = gzip.open(str(path) + ".gz").read() if not path.exists() else path.read_bytes()
    rank = data[3]
    shape = [int.from_bytes(data[4 + 4 * i:8 + 4 * i], "big") for i in range(rank)]
    return torch.from_numpy(np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape).copy())


def both(flags, part):
    pictures = idx(flags.folder, f"{part}-images-idx3-ubyte").to(flags.device)[:, None] / 255
    return pictures, idx(flags.folder, f"{part}-labels-idx1-ubyte").to(flags.device).long()


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU())
        self.mean, self.log_variance = nn.Linear(512, 12), nn.Linear(512, 12)
        self.decoder = nn.Sequential(nn.Linear(12, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                                     nn.Linear(512, 784))

    def loss(self, x, y, step):
        h = self.encoder(x)
        mean, log_variance = self.mean(h), self.log_variance(h)
        drawn = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean) if self.training else mean
        apart = -0.5 * (1 + log_variance - mean ** 2 - log_variance.exp()).sum()
        pixels = F.binary_cross_entropy_with_logits(self.decoder(drawn), x.flatten(1), reduction="sum")
        return (pixels + min(1.0, step / 1000) * apart) / len(x)

    def draw(self, labels):
        return torch.sigmoid(self.decoder(torch.randn(len(labels), 12))).reshape(-1, 28, 28)


class Block(nn.Module):
    def __init__(self, before, after, facts):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(8, before), nn.GroupNorm(8, after)
        self.conv1, self.conv2 = nn.Conv2d(before, after, 3, padding=1), nn.Conv2d(after, after, 3, padding=1)
        self.skip, self.told = nn.Conv2d(before, after, 1), nn.Linear(facts, after)

    def forward(self, x, facts):
        h = self.conv1(F.silu(self.norm1(x))) + self.told(facts)[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(h)))


class Denoiser(nn.Module):
    def __init__(self, width):
        super().__init__()
        facts = 4 * width
        self.time = nn.Sequential(nn.Linear(32, facts), nn.SiLU(), nn.Linear(facts, facts))
        self.digit = nn.Embedding(10, facts)
        self.first, self.last = nn.Conv2d(4, width, 3, padding=1), nn.Conv2d(width, 4, 3, padding=1)
        self.down = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.up = nn.Conv2d(2 * width, width, 3, padding=1)
        self.fine, self.joined = Block(width, width, facts), Block(2 * width, width, facts)
        self.coarse1, self.coarse2 = Block(2 * width, 2 * width, facts), Block(2 * width, 2 * width, facts)
        self.norm = nn.GroupNorm(8, width)

    def forward(self, x, t, labels):
        angle = t[:, None] * torch.exp(torch.linspace(0, math.log(1000), 16))
        facts = F.silu(self.time(torch.cat([angle.sin(), angle.cos()], 1)) + self.digit(labels))
        side = self.fine(self.first(F.pixel_unshuffle(x, 2)), facts)
        deep = self.coarse2(self.coarse1(self.down(side), facts), facts)
        back = self.up(F.interpolate(deep, scale_factor=2))
        return F.pixel_shuffle(self.last(F.silu(self.norm(self.joined(torch.cat([side, back], 1), facts)))), 2)

    def loss(self, x, y, step):
        x = 2 * x - 1
        t, noise = torch.rand(len(x)), torch.randn_like(x)
        a, s = torch.cos(math.pi / 2 * t)[:, None, None, None], torch.sin(math.pi / 2 * t)[:, None, None, None]
        return F.mse_loss(self(a * x + s * noise, t, y), a * noise - s * x)

    def draw(self, labels):
        x = torch.randn(len(labels), 1, 28, 28)
        for step in range(50, 0, -1):
            a, s = (f(math.pi / 2 * step / 50) for f in (math.cos, math.sin))
            v = self(x, torch.full((len(x),), step / 50), labels)
            picture = (a * x - s * v).clamp(-1, 1)
            noise = (x - a * picture) / s
            after = math.pi / 2 * (step - 1) / 50
            x = math.cos(after) * picture + math.sin(after) * noise
        return (x[:, 0] / 2 + 0.5).clamp(0, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["vae", "diffusion"])
    parser.add_argument("folder")
    parser.add_argument("epochs", type=int)
    parser.add_argument("out")
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--device", default="cpu")
    flags = parser.parse_args()
    kind, epochs = flags.kind, flags.epochs
    torch.set_default_device(flags.device)
    x, y = both(flags, "train")
    test_x, test_y = both(flags, "t10k")
    model = Vae() if kind == "vae" else Denoiser(flags.width)
    optimizer = (torch.optim.Adam(model.parameters(), 1e-3) if kind == "vae"
                 else torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=1e-3))
    batches = len(x) // 128
    rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, epochs * batches, cycle_momentum=False)
    average = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.999))
    began, step = time.monotonic(), 0
    for epoch in range(1, epochs + 1):
        model.train()
        order, total = torch.randperm(len(x)), 0
        for i in range(batches):
            chosen = order[128 * i:128 * i + 128]
            loss = model.loss(x[chosen], y[chosen], step)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            rate.step()
            average.update_parameters(model)
            total += loss.item()
            step += 1
        with torch.no_grad():
            average.eval()
            held = sum(average.module.loss(test_x[i:i + 500], test_y[i:i + 500], step).item()
                       for i in range(0, 10000, 500)) / 20
        print(f"epoch {epoch}: loss {total / batches:.4f}, of the test set {held:.4f}, "
              f"{time.monotonic() - began:.0f} s", flush=True)
    with torch.no_grad():
        labels = torch.arange(10).repeat(50)
        drawn = torch.cat([average.module.draw(labels) for _ in range(20)])
    np.save(flags.out, (drawn * 255).round().to(torch.uint8).cpu().numpy())


if __name__ == "__main__":
    main()
