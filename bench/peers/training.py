#!/usr/bin/env python3
"""The training steps of bench/training.cpp in PyTorch, in turn with Veldt: milliseconds a step, and memory.

usage: training.py BENCH_TRAINING [--rounds N] [--threads N] [--seconds S] [--cases a,b] [--compiled] [--avx2]

BENCH_TRAINING is the path of bench_training; PyTorch is that of the interpreter that runs this. Both stay alive and
warm. The median step of each sample counts; the ratio is the median of the rounds' ratios. Memory is the most that a process has held (VmHWM) since it began, so a case by itself tells its own.
--compiled adds
torch.compile of forward and backward; --avx2 keeps both from AVX-512.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

from fair import TUNED, peak_memory

LETTERS, CASES = 65, ("lenet", "char_lstm", "gpt", "resnet18", "cifar10_fast")
SETTLE = 0.05  # seconds until the threads of the last sample no longer spin
AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "DNNL_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2"}


def torch_works():
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Block(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.linear1, self.linear2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            n, time_, width = x.shape
            parts = self.qkv(self.norm1(x)).split(width, -1)
            q, k, v = (part.view(n, time_, self.heads, -1).transpose(1, 2) for part in parts)
            seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(seen.transpose(1, 2).reshape(n, time_, width))
            return x + self.linear2(F.gelu(self.linear1(self.norm2(x))))

    class Gpt(nn.Module):
        def __init__(self, layers=4, width=128, heads=4, length=128):
            super().__init__()
            self.table = nn.Embedding(LETTERS, width)
            self.positions = nn.Parameter(0.02 * torch.randn(length, width))
            self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, LETTERS, bias=False)

        def forward(self, x):
            return self.head(self.norm(self.blocks(self.table(x) + self.positions))).view(-1, LETTERS)

    class Writer(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.lstm = nn.Embedding(LETTERS, 64), nn.LSTM(64, 256, 2, batch_first=True)
            self.head = nn.Linear(256, LETTERS)

        def forward(self, x):
            return self.head(self.lstm(self.table(x))[0]).transpose(1, 2)

    def lenet():
        return nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
        )

    class Residual(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.bn1, self.bn2, self.side = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs), nn.Identity()
            if inputs != outputs:
                self.side = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

        def forward(self, x):
            y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
            return F.relu(y + self.side(x))

    def resnet18():
        layers, inputs = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()], 64
        for outputs in (64, 128, 256, 512):
            layers += [Residual(inputs, outputs, 1 if inputs == outputs else 2), Residual(outputs, outputs, 1)]
            inputs = outputs
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))

    def cifar10_fast():
        first = nn.Conv2d(3, 24, 2).requires_grad_(False)
        layers, inputs = [first, nn.GELU()], 24
        for outputs in (64, 256, 256):
            layers += [nn.Conv2d(inputs, outputs, 3, 1, 1, bias=False), nn.MaxPool2d(2), nn.BatchNorm2d(outputs), nn.GELU(),
                       nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs), nn.GELU()]
            inputs = outputs
        for layer in layers:
            if isinstance(layer, nn.BatchNorm2d):
                layer.weight.requires_grad_(False)
        return nn.Sequential(*layers, nn.MaxPool2d(3), nn.Flatten(), nn.Linear(256, 10, bias=False))

    def letters(*shape):
        return torch.randint(0, LETTERS, shape)

    def made(case):
        if case == "lenet":
            model, x, y = lenet(), torch.rand(64, 1, 28, 28), torch.randint(0, 10, (64,))
            return model, x, y, torch.optim.Adam(model.parameters(), fused=True), None
        if case == "resnet18":
            model, x, y = resnet18(), torch.randn(64, 3, 32, 32), torch.randint(0, 10, (64,))
            return model, x, y, torch.optim.SGD(model.parameters(), 1e-2, momentum=0.9, fused=True), None
        if case == "cifar10_fast":  # channels last: faster there than planes
            model = cifar10_fast().to(memory_format=torch.channels_last)
            x = torch.randn(512, 3, 32, 32).contiguous(memory_format=torch.channels_last)
            trained = [p for p in model.parameters() if p.requires_grad]
            sgd = torch.optim.SGD(trained, 1e-2, momentum=0.85, nesterov=True, fused=True)
            return model, x, torch.randint(0, 10, (512,)), sgd, None
        if case == "char_lstm":
            model = Writer()
            adam = torch.optim.Adam(model.parameters(), 2e-3, fused=True)
            return model, letters(32, 100), letters(32, 100), adam, 1.0
        model = Gpt()
        adam = torch.optim.AdamW(model.parameters(), 1e-3, fused=True)
        return model, letters(32, 128), letters(32 * 128), adam, None

    def work(case, compiled):
        torch.manual_seed(1)
        model, x, y, optimizer, clip = made(case)
        smooth = 0.2 if case == "cifar10_fast" else 0
        loss_of = (lambda: F.cross_entropy(model(x), y, label_smoothing=smooth))
        loss_of = torch.compile(loss_of) if compiled else loss_of

        def step():
            loss = loss_of()
            optimizer.zero_grad()
            loss.backward()
            if clip:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            return loss

        return step

    return torch, work


def serve(threads, compiled):
    torch, work = torch_works()
    torch.set_num_threads(threads)
    ready = {}
    print(torch.__version__, torch.backends.cpu.get_cpu_capability(), flush=True)
    for line in sys.stdin:
        case, seconds = line.split()
        if case not in ready:
            ready[case] = work(case, compiled)
        step = ready[case]
        times, start = [], time.perf_counter()
        while not times or time.perf_counter() - start < float(seconds):
            begin = time.perf_counter()
            loss = step()
            times.append(1e3 * (time.perf_counter() - begin))
        print(json.dumps({"ms": times, "loss": loss.item(), "mb": peak_memory()}), flush=True)


class Program:
    def __init__(self, name, command, environment):
        self.name, self.mb = name, 0
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
            env={**os.environ, **environment},
        )

    def line(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"training.py: error: {self.name} ended\n  fix: read its message above")
        return line

    def sample(self, case, seconds):
        time.sleep(SETTLE)
        self.process.stdin.write(f"{case} {seconds}\n")
        answer = json.loads(self.line())
        self.mb = answer["mb"]
        return statistics.median(answer["ms"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="BENCH_TRAINING")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.0, help="of a sample; 1 by default")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--avx2", action="store_true", help="without AVX-512 on both sides")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)  # PyTorch's side, for itself
    o = parser.parse_args()
    if o.serve:
        return serve(o.threads, o.compiled)
    cases = o.cases.split(",")
    if unknown := [case for case in cases if case not in CASES]:
        parser.error(f"there is no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    least = AVX2 if o.avx2 else {}
    veldt = Program("Veldt", [o.program, str(o.threads), *["--avx2"] * o.avx2], least)
    torch = [sys.executable, __file__, o.program, "--serve", "--threads", str(o.threads)]
    peers = [Program("PyTorch", torch, {**TUNED, **least})]
    if o.compiled:
        peers.append(Program("compiled", [*torch, "--compiled"], {**TUNED, **least}))
    version = [peer.line().strip() for peer in peers][0]
    print(f"PyTorch {version}, {o.threads} threads, {o.rounds} rounds in turn, milliseconds")
    for case in cases:
        programs = [veldt, *peers]
        for program in programs:
            program.sample(case, o.seconds)
        rounds = [[program.sample(case, o.seconds) for program in programs] for _ in range(o.rounds)]
        text = f"{case:10}"
        for i, program in enumerate(programs):
            times = [r[i] for r in rounds]
            text += f"  {program.name} {statistics.median(times):.2f} ({min(times):.2f} to {max(times):.2f})"
            text += f" {program.mb:.0f} MB"
        for i, peer in enumerate(peers, 1):
            ratios = [r[i] / r[0] for r in rounds]
            range_ = f"({min(ratios):.2f} to {max(ratios):.2f})"
            text += f"  {peer.name} : Veldt {statistics.median(ratios):.2f} {range_}"
        print(text, flush=True)


main()
