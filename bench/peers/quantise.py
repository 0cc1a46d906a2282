#!/usr/bin/env python3
"""torch.ao.quantization on the network of recipes/mnist.toml, as Veldt trained it.

usage: quantise.py VELDT RUN DATA      (needs torch, safetensors, numpy; DATA holds mnist/)

Quantises the run's network with `VELDT quantize` and with torch.ao (static, bytes a channel for weights, histograms for
inputs, the engine x86), both calibrated on 512 training examples, and prints a line each: bytes of weights, test accuracy
before and after, and how many times as fast batches of 250 are, float and integers in turns.
"""
import gzip
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import torch
from safetensors import safe_open
from torch import nn
from torch.ao.quantization import QConfigMapping, get_default_qconfig
from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx


def idx(path):
    path = pathlib.Path(path)
    opener = gzip.open if not path.exists() else open
    with opener(path if path.exists() else f"{path}.gz", "rb") as f:
        data = f.read()
    rank = data[3]
    shape = numpy.frombuffer(data, ">u4", rank, 4)
    return numpy.frombuffer(data, "u1", offset=4 + 4 * rank).reshape(shape)


def mnist(folder):
    def part(name):
        pictures = idx(folder / f"{name}-images-idx3-ubyte").astype("f4")[:, None] / 255
        return torch.from_numpy(pictures), torch.from_numpy(idx(folder / f"{name}-labels-idx1-ubyte").astype("i8"))
    return part("train"), part("t10k")


def lenet():
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
                         nn.Linear(84, 10))


def accuracy(model, data):
    pictures, labels = data
    with torch.no_grad():
        found = torch.cat([model(p).argmax(1) for p in pictures.split(250)])
    return (found == labels).double().mean().item()


def ratio(before, after, batch):
    times = {id(before): [], id(after): []}
    with torch.no_grad():
        for _ in range(60):
            for model in (before, after):
                begin = time.perf_counter()
                model(batch)
                times[id(model)].append(time.perf_counter() - begin)
    return statistics.median(times[id(before)]) / statistics.median(times[id(after)])


def main(veldt, run, data):
    torch.set_num_threads(2)
    torch.backends.quantized.engine = "x86"
    path = pathlib.Path(run) / "model.safetensors"
    with safe_open(path, "pt") as f:
        state = {name: f.get_tensor(name) for name in f.keys()}
    train, test = mnist(pathlib.Path(data) / "mnist")
    model = lenet().eval()
    model.load_state_dict(state)
    shown = train[0][torch.randperm(len(train[0]), generator=torch.Generator().manual_seed(1))[:512]]
    prepared = prepare_fx(model, QConfigMapping().set_global(get_default_qconfig("x86")), (shown[:1],))
    with torch.no_grad():
        for batch in shown.split(64):
            prepared(batch)
    quantised = convert_fx(prepared)
    weights = sum(t.numel() for n, t in state.items() if n.endswith("weight"))
    print(f"torch.ao   {weights:>9} bytes  {accuracy(model, test):.4f} -> {accuracy(quantised, test):.4f}  "
          f"{ratio(model, quantised, test[0][:250]):.2f} times as fast")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([veldt, "quantize", run, "--data", data, "-o", f"{folder}/q.safetensors", "--json"],
                              check=True, capture_output=True, text=True)
    report = json.loads(done.stdout)
    score, speed = report["scores"]["accuracy"], report["examples_per_second"]
    print(f"veldt      {report['bytes']['after']:>9} bytes  {score['before']:.4f} -> {score['after']:.4f}  "
          f"{speed['after'] / speed['before']:.2f} times as fast")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
