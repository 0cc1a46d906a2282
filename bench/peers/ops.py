#!/usr/bin/env python3
"""Every public op beside PyTorch, in turn, each call by itself: rows sorted by the ratio of their times.

usage: ops.py BENCH_OPS [--ops REGEX] [--dtypes f32,bf16] [--sizes 1k,1M] [--layouts contiguous] [--threads 1,2]
              [--modes forward,gradient] [--full] [--rounds N] [--seconds S] [--csv FILE] [--worst N]

BENCH_OPS is the path of bench_ops; PyTorch is that of the interpreter that runs this. Where it has none, Veldt is timed
alone. The fastest call of each sample counts, as others on the machine only add to it; the ratio is the median of
the rounds' ratios, Veldt's time over PyTorch's. `gradient` is forward and backward.
"""
import argparse
import csv
import json
import os
import re
import statistics
import subprocess
import sys
import time

try:
    import torch
    import ops_torch
except ImportError:
    torch = None

SIZES = {"1k": 1 << 10, "1M": 1 << 20, "16M": 1 << 24}
LAYOUTS = ("contiguous", "transposed", "sliced")
MODES = ("forward", "gradient")
DTYPES = ("f32", "f64", "bf16", "f16", "i64", "i32", "u8", "bool")
COLUMNS = ("row", "mode", "dtype", "size", "layout", "threads", "veldt_us", "torch_us", "ratio")
SETTLE = 0.004  # seconds until the threads of the other side sleep; waited for with several threads only


class Veldt:
    def __init__(self, program):
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def ask(self, *fields):
        self.process.stdin.write("\t".join(map(str, fields)) + "\n")
        line = self.process.stdout.readline()
        if not line:
            sys.exit("ops.py: error: bench_ops ended\n  fix: read its message above")
        return json.loads(line)


def fastest(call, seconds):
    def timed(count):
        start = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - start) / count

    best = first = timed(1)
    count, end = max(1, int(20e-6 / first)), time.perf_counter() + seconds - first
    while time.perf_counter() < end:
        best = min(best, timed(count))
    return best


class Case:
    """One row in one form: its time on both sides, in turn."""

    def __init__(self, veldt, row, mode, dtype, size, layout):
        self.veldt, self.mode = veldt, mode
        self.form = (row["name"], dtype, SIZES[size], layout)
        self.labels = (row["name"], mode, dtype, size, layout)
        self.torch, self.note = None, ""
        if torch and ops_torch.has_peer(row["name"]):
            try:
                self.torch = ops_torch.made(row["name"], veldt.ask("inputs", *self.form), mode == "gradient")
                self.shape = list(self.torch().shape) if mode == "forward" else None
            except (RuntimeError, NotImplementedError, IndexError) as error:
                self.torch, self.note = None, str(error).splitlines()[0]

    def sample(self, threads, seconds):
        said = self.veldt.ask("time", *self.form, self.mode, threads, seconds)
        if "error" in said:
            sys.exit(f"ops.py: error: {' '.join(map(str, self.labels))}: {said['error']}")
        if not self.torch:
            return said["seconds"], None
        counts = self.form[0].startswith(("masked_select", "nonzero"))  # how many there are is chance
        if self.shape is not None and self.shape[counts:] != said["shape"][counts:]:
            sys.exit(f"ops.py: error: {self.labels}: Veldt gives {said['shape']}, PyTorch {self.shape}")
        time.sleep(SETTLE if threads > 1 else 0)
        torch.set_num_threads(threads)
        self.torch()
        theirs = fastest(self.torch, seconds)
        time.sleep(SETTLE if threads > 1 else 0)
        return said["seconds"], theirs

    def result(self, threads, rounds, seconds):
        samples = [self.sample(threads, seconds) for _ in range(rounds)]
        ours = statistics.median(s[0] for s in samples)
        theirs = statistics.median(s[1] for s in samples) if self.torch else None
        ratio = statistics.median(s[0] / s[1] for s in samples) if self.torch else None
        return (*self.labels, threads, 1e6 * ours, theirs and 1e6 * theirs, ratio)


def text_of(result):
    row, mode, dtype, size, layout, threads, ours, theirs, ratio = result
    peer = f"{theirs:11.1f}  {ratio:6.2f}" if theirs else f"{'-':>11}  {'-':>6}"
    return f"{row:38} {mode:8} {dtype:5} {size:>4} {layout:10} {threads:2}  {ours:11.1f} {peer}"


def summary(results, views):
    results = [r for r in results if r[0] not in views]
    for threads in sorted({r[5] for r in results}):
        for dtype in DTYPES:
            ratios = [r[8] for r in results if r[5] == threads and r[2] == dtype and r[8]]
            if not ratios:
                continue
            over = ", ".join(f"{sum(x > limit for x in ratios)} above {limit}" for limit in (1.5, 2, 3))
            print(f"{threads} thread(s), {dtype}, without views: {len(ratios)} ratios, median {statistics.median(ratios):.2f}, {over}")


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)

    def names(option, known, default):
        def split(text):
            chosen = text.split(",")
            if unknown := [name for name in chosen if name not in known]:
                raise argparse.ArgumentTypeError(f"there is no {', '.join(unknown)}; there are {', '.join(known)}")
            return chosen
        parser.add_argument(option, type=split, default=default.split(","))

    parser.add_argument("program", metavar="BENCH_OPS")
    parser.add_argument("--ops", default="", help="a regular expression that the row's name begins with")
    names("--dtypes", DTYPES, "f32,bf16,i64")
    names("--sizes", SIZES, "1M")
    names("--layouts", LAYOUTS, "contiguous")
    names("--modes", MODES, "forward")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--full", action="store_true", help="every dtype, size, layout and mode, on 1 and 2 threads")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.01, help="of a sample; 0.01 by default")
    parser.add_argument("--csv", help="keeps all figures in this file")
    parser.add_argument("--worst", type=int, help="prints so many rows alone, those of the highest ratios")
    o = parser.parse_args()
    if o.full:
        o.dtypes, o.sizes, o.layouts, o.modes, o.threads = DTYPES, SIZES, LAYOUTS, MODES, "1,2"
    return o


def forms(row, o):
    for dtype in row["dtypes"]:
        for size in o.sizes:
            for layout in o.layouts if row["layouts"] else ("contiguous",):
                for mode in o.modes:
                    whole = dtype[0] in "iu" or dtype == "bool"
                    if dtype in o.dtypes and (mode == "forward" or (row["gradient"] and not whole)):
                        yield mode, dtype, size, layout


def main():
    o = parsed()
    veldt = Veldt(o.program)
    rows = [row for row in veldt.ask("rows") if re.match(o.ops, row["name"])]
    lacking = [row["name"] for row in rows if torch and not ops_torch.has_peer(row["name"])]
    if unknown := [name for name in lacking if name not in ops_torch.ALONE]:
        sys.exit(f"ops.py: error: bench/peers/ops_torch.py has no call for {', '.join(unknown)}")
    results, notes, shown = [], [], time.monotonic()
    for i, row in enumerate(rows):
        for form in forms(row, o):
            case = Case(veldt, row, *form)
            if case.note:
                notes.append(f"{' '.join(case.labels)}: PyTorch has none: {case.note}")
            for threads in map(int, o.threads.split(",")):
                results.append(case.result(threads, o.rounds, o.seconds))
        if time.monotonic() - shown > 15:
            shown = time.monotonic()
            print(f"{i + 1} of {len(rows)} rows: {row['name']}", file=sys.stderr, flush=True)
    results.sort(key=lambda r: -(r[8] or 0))
    peer = f"PyTorch {torch.__version__} {torch.backends.cpu.get_cpu_capability()}" if torch else "no PyTorch here"
    print(f"{peer}, {o.rounds} rounds in turn, microseconds a call: Veldt, PyTorch, their ratio")
    for result in results[:o.worst]:
        print(text_of(result))
    print("\n".join(sorted(set(notes))), end="\n" if notes else "")
    summary(results, {row["name"] for row in rows if row["view"]})
    if o.csv:
        with open(o.csv, "w", newline="") as file:
            out = csv.writer(file)
            out.writerow(COLUMNS)
            out.writerows(results)


main()
