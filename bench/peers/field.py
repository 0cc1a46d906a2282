#!/usr/bin/env python3
"""Training steps of neural fields in Veldt, PyTorch and JAX, in turn on the same machine.

usage: field.py BENCH_FIELD [--rounds N] [--cases a,b] [--minutes M] [--write]

BENCH_FIELD is the path of bench_field. PyTorch, and JAX where it is installed, are those of the interpreter that
runs this. Every program stays alive and warm. Each sample stands between two probes of what the processor can do
at that moment, and is dropped when either is below 90 % of the best one of the run, or when other processes took more
than 10 % of the processors meanwhile. Each case has an equal part of the time, and stops when it is over. --write
puts the table into bench/RESULTS.md.
"""
import argparse
import dataclasses
import importlib.util
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

import fair
from field_worker import CASES

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "RESULTS.md"
BEGIN, END = "<!-- field: written by bench/peers/field.py -->\n", "<!-- field: end -->\n"
SECONDS = 0.4  # of a sample, at least
SETTLE = 0.03  # until the threads of the last sample no longer spin
QUIET, PATIENCE = 0.9, 2.0  # of the best probe; seconds to wait for a quiet moment before a sample
MOST_OTHERS = 0.1  # of the processors' time during a sample
PRECISIONS = ("f32", "bf16")

TUNED = {**fair.TUNED, "OMP_NUM_THREADS": str(len(os.sched_getaffinity(0)))}


def ticks(pid=None):
    """Processor time used by now, in clock ticks: of all processes (with what other machines stole), or of one."""
    if pid is None:
        user, nice, system, _, _, *rest = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:9])
        return user + nice + system + sum(rest)
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


class Program:
    def __init__(self, name, command, environment, precisions):
        self.name, self.precisions = name, precisions
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env={**os.environ, **environment}
        )
        self.about = self.ask("about")

    def ask(self, request):
        self.process.stdin.write(request + "\n")
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"field.py: error: {self.name} ended at the request \"{request}\"\n  fix: read its message above")
        return json.loads(line)


@dataclasses.dataclass
class Sample:
    ms: float  # the median of its steps
    before: float  # GFLOP/s of the probes around it
    after: float
    others: float  # the part of the processors' time that other processes took
    answer: dict


class Run:
    def __init__(self, veldt, peers):
        self.veldt, self.programs = veldt, [veldt, *peers]
        self.best = {"f32": 0.0, "bf16": 0.0}
        self.units = {}
        self.samples = {}  # (case, precision, program) -> [Sample]
        self.skipped = 0  # samples for which no quiet moment came
        self.failed = set()

    def probe(self):
        time.sleep(SETTLE)
        found = self.veldt.ask("probe")
        for precision, peak in found.items():
            self.best[precision] = max(self.best[precision], peak["gflops"])
            self.units[precision] = peak["unit"]
        return found["f32"]["gflops"]

    def quiet_probe(self):
        end = time.monotonic() + PATIENCE
        while (rate := self.probe()) < QUIET * self.best["f32"]:
            if time.monotonic() > end:
                return None
        return rate

    def ask(self, case, precision, program, seconds):
        answer = program.ask(f"run {case} {precision} {seconds}")
        if "error" in answer:
            self.failed.add((case, precision, program.name))
            print(f"{program.name}, {case} {precision}: {answer['error']}", file=sys.stderr)
            return None
        return answer

    def take(self, case, precision, program):
        if (before := self.quiet_probe()) is None:
            self.skipped += 1
            return
        pid = program.process.pid
        start, used = time.monotonic(), ticks() - ticks(pid)
        if answer := self.ask(case, precision, program, SECONDS):
            used = ticks() - ticks(pid) - used
            others = used / os.sysconf("SC_CLK_TCK") / (time.monotonic() - start) / os.cpu_count()
            sample = Sample(statistics.median(answer["ms"]), before, self.probe(), others, answer)
            self.samples.setdefault((case, precision, program.name), []).append(sample)

    def measure(self, case, rounds, end):
        """Everything once to warm up and compile, then in turn."""
        turn = [(p, program) for p in PRECISIONS for program in self.programs if p in program.precisions]
        for precision, program in turn:
            if time.monotonic() < end:
                self.ask(case, precision, program, 0)
        for _ in range(rounds):
            for precision, program in turn:
                if time.monotonic() < end and (case, precision, program.name) not in self.failed:
                    self.take(case, precision, program)

    def kept(self, case, precision, name):
        """The samples of quiet moments, in ms."""
        least = QUIET * self.best["f32"]
        found = self.samples.get((case, precision, name), [])
        return [s.ms for s in found if min(s.before, s.after) >= least and s.others <= MOST_OTHERS]

    def dropped(self):
        return self.taken() - sum(len(self.kept(*key)) for key in self.samples)

    def taken(self):
        return self.skipped + sum(map(len, self.samples.values()))

    def steadiness(self):
        """What Veldt's steps took of the system, in words."""
        answers = [s.answer for (_, _, name), found in self.samples.items() if name == self.veldt.name for s in found]
        faults, allocations = (sum(a[k] for a in answers) for k in ("page_faults", "system_allocations"))
        steps = sum(len(a["ms"]) for a in answers)
        if faults == allocations == 0:
            return f"None of Veldt's {steps} steps took memory from the system or a page fault."
        return f"Veldt's {steps} steps took {allocations} times memory from the system, and {faults} page faults."


def shown(ms):
    """The median, and the range."""
    if not ms:
        return "-"
    digits = 2 if statistics.median(ms) < 10 else 1 if statistics.median(ms) < 100 else 0
    low, middle, high = (f"{v:.{digits}f}" for v in (min(ms), statistics.median(ms), max(ms)))
    return f"{middle} ({low} to {high})" if len(ms) > 1 else middle


def rows(run, cases):
    names = [p.name for p in run.programs]
    yield ["case", "", *names, "PyTorch : Veldt", "Veldt, GFLOP/s", "of the peak"]
    for case in cases:
        for precision in PRECISIONS:
            ms = {name: run.kept(case, precision, name) for name in names}
            if precision not in run.veldt.precisions or not any(ms.values()):
                continue
            own = ms[run.veldt.name]
            peers = [statistics.median(v) for name, v in ms.items() if name.startswith("PyTorch") and v]
            ratio = rate = share = "-"
            if own:
                gflop = run.samples[case, precision, run.veldt.name][0].answer["gflop"]
                gflops = gflop / statistics.median(own) * 1e3
                rate, share = f"{gflops:,.0f}", f"{100 * gflops / run.best[precision]:.0f} %"
                ratio = f"{min(peers) / statistics.median(own):.2f}" if peers else "-"
            yield [case, precision, *(shown(ms[name]) for name in names), ratio, rate, share]


def table(run, cases):
    cells = list(rows(run, cases))
    widths = [max(map(len, column)) for column in zip(*cells)]
    cells.insert(1, ["-" * max(3, width) for width in widths])
    return "\n".join("| " + " | ".join(c.ljust(w) for c, w in zip(row, widths)) + " |" for row in cells)


def processor():
    return re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text()).group(1)


def report(run, cases, options):
    versions = sorted({p.about["program"] for p in run.programs[1:]})
    threads = run.veldt.about["threads"]
    command = "bench/peers/field.py " + " ".join(
        [os.path.relpath(options.program, HERE.parent.parent), f"--rounds {options.rounds}", f"--minutes {options.minutes:g}"]
        + ([f"--cases {options.cases}"] if options.cases else [])
    )
    peak = f"{run.best['f32']:,.0f} GFLOP/s in f32 ({run.units['f32']})"
    if run.best["bf16"]:
        peak += f" and {run.best['bf16']:,.0f} in bf16 ({run.units['bf16']})"
    return f"""\
`{command}` on {processor()}, {threads} threads; {', '.join(versions)}.
Milliseconds a step: medians of {options.rounds} rounds in turn, and the range; {run.dropped()} of {run.taken()} samples were dropped,
because a probe beside them was below 90 % of the best or others took above 10 % of the processors. The ratio is to the faster PyTorch of the same precision.
The peak is the best probe: {peak}.
{run.steadiness()}

{table(run, cases)}
"""


def write(text):
    before, _, rest = RESULTS.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        sys.exit(f"field.py: error: {RESULTS} has no place for the table\n  fix: add the lines\n{BEGIN}{END}")
    RESULTS.write_text(before + BEGIN + text + END + after)


def started(options):
    veldt = Program("Veldt", [options.program, "--serve"], {}, PRECISIONS)
    if not veldt.about["fast_bf16"]:
        veldt.precisions = ("f32",)
    torch = [sys.executable, str(HERE / "field_torch.py")]
    peers = [Program(f"PyTorch {kind}", [*torch, kind], TUNED, veldt.precisions) for kind in ("eager", "compiled")]
    if importlib.util.find_spec("jax"):
        peers.append(Program("JAX", [sys.executable, str(HERE / "field_jax.py")], TUNED, ("f32",)))
    return Run(veldt, peers)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="BENCH_FIELD")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cases", help=f"some of {','.join(CASES)}")
    parser.add_argument("--minutes", type=float, default=15, help="to stop after; 15 by default")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    cases = options.cases.split(",") if options.cases else list(CASES)
    if unknown := [case for case in cases if case not in CASES]:
        parser.error(f"there is no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    run = started(options)
    run.probe()
    end = time.monotonic() + 60 * options.minutes
    for i, case in enumerate(cases):
        part = (end - time.monotonic()) / (len(cases) - i)
        print(f"{case}, at most {part:.0f} s", file=sys.stderr)
        run.measure(case, options.rounds, time.monotonic() + part)
    text = report(run, cases, options)
    print(text, end="")
    if options.write and not any(run.kept(*key) for key in run.samples):
        sys.exit("field.py: error: nothing to write: no sample was undisturbed\n  fix: run it on a quiet machine")
    if options.write:
        write(text)


main()
