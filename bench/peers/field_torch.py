"""The steps of bench/field.cpp in PyTorch, for bench/peers/field.py.

usage: field_torch.py eager|compiled      (requests on stdin: see field_worker.py)

bf16 is autocast. Adam is the fused one. The grid is a gather with embedding lookups, as research code has it.
"""
import os
import sys

import numpy as np
import torch

from field_worker import CASES, ENTRIES, FEATURES, LEVELS, OMEGA, PIECE, PRIME, cells, has_grid, only_draws, points, rate_of, serve

torch.set_num_threads(len(os.sched_getaffinity(0)))
# One compilation for each case: none is to be thrown away, and none made for sizes that vary.
torch._dynamo.config.recompile_limit = 100


class Grid(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = [cells(level) for level in range(LEVELS)]
        sizes = [min((n + 1) ** 2, ENTRIES) for n in self.cells]
        self.tables = torch.nn.ModuleList(torch.nn.Embedding(size, FEATURES) for size in sizes)
        for table in self.tables:
            torch.nn.init.uniform_(table.weight, -1e-4, 1e-4)

    def forward(self, x):
        features = []
        for n, table in zip(self.cells, self.tables):
            at = x * n
            low = at.floor().clamp(0, n - 1)
            t, low = at - low, low.long()
            corners = []
            for i in (0, 1):
                for j in (0, 1):
                    a, b = low[:, 0] + i, low[:, 1] + j
                    hashed = (n + 1) ** 2 > ENTRIES
                    index = (a ^ (b * PRIME)) % ENTRIES if hashed else a + b * (n + 1)
                    weight = (t[:, 0] if i else 1 - t[:, 0]) * (t[:, 1] if j else 1 - t[:, 1])
                    corners.append(table(index) * weight[:, None])
            features.append(sum(corners))
        return torch.cat(features, 1)


class Field(torch.nn.Module):
    def __init__(self, case):
        super().__init__()
        sizes, self.kind, _ = CASES[case]
        self.grid = Grid() if has_grid(case) else torch.nn.Identity()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, x):
        x = self.grid(x)
        for layer in self.layers[:-1]:
            x = layer(x)
            x = torch.sin(OMEGA * x) if self.kind == "sine" else torch.tanh(x) if self.kind == "tanh" else torch.relu(x)
        return self.layers[-1](x)


def make(case, precision, device="cpu", compiled=lambda function: function, piece=PIECE, **adam_options):
    torch.manual_seed(1)
    net = Field(case).to(device)
    x, y = (torch.from_numpy(a).to(device) for a in points(np.random.default_rng(1), case))

    def autocast():
        # A cache of rounded weights would outlive a step that is captured in a CUDA graph.
        return torch.autocast(device, torch.bfloat16, enabled=precision == "bf16", cache_enabled=device == "cpu")

    if only_draws(case):
        forward = compiled(lambda points: net(points))

        def draw():
            with torch.no_grad(), autocast():
                torch.cat([forward(piece).float() for piece in x.split(piece)])
            return 0.0

        return draw

    adam = torch.optim.Adam(net.parameters(), lr=rate_of(case), fused=True, **adam_options)
    loss_of = compiled(lambda: torch.nn.functional.mse_loss(net(x).float(), y))

    def step():
        adam.zero_grad()
        with autocast():
            loss = loss_of()
        loss.backward()
        adam.step()
        return loss.detach()

    return step


def main():
    compiled = (lambda function: torch.compile(function, dynamic=False)) if sys.argv[1:] == ["compiled"] else (lambda f: f)
    program = f"PyTorch {torch.__version__.split('+')[0]} ({torch.backends.cpu.get_cpu_capability()})"
    serve(
        {"program": program, "threads": torch.get_num_threads()},
        lambda case, precision: make(case, precision, compiled=compiled),
    )


if __name__ == "__main__":
    main()
