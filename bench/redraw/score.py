#!/usr/bin/env python3
"""Redraws every input of a set that make_set.py made, and compares with the truth.

usage: score.py SET [--veldt PROGRAM] [--flags "..."] [--output rows.csv] [--quick] [--kinds a,b] [--names a,b]
                [--filters area,point] [--scales 2,3.3,4,8] [--seeds 0,1,2] [--limit N] [--jobs N]

Default: `veldt fit` with default flags, then `veldt render` at the size of each truth; --flags are added to `fit`.
Any other program: --fit and --draw are its commands; {input}, {model}, {output}, {seed}, {width}, {height}, {veldt}
and {flags} are filled in. --fit '' is for programs of one step; --fit '' --draw '' measures Pillow's filters alone.
Rows go into --output as they come: a second call with the same commands goes on there, tries again what failed, and
prints the tables. The exit status is 1 where a redraw failed.
"""

import argparse
import csv
import json
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from PIL import Image

from arithmetic import area_average, differing_pixels, flats, plain, psnr, ssim
from table import tables

FIT = "{veldt} fit {input} -o {model} --seed {seed} --json --quiet {flags}"
DRAW = "{veldt} render {model} -o {output} --size {width}x{height} --quiet"
TOLD = "expected_gain"  # what `fit --json` says, in dB over Lanczos3
RESAMPLERS = {
    "nearest": Image.Resampling.NEAREST,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}
COLUMNS = (
    "kind",
    "name",
    "filter",
    "seed",
    "scale",
    "width",
    "height",
    "psnr",
    "ssim",
    *(f"{name}_{what}" for name in RESAMPLERS for what in ("psnr", "ssim")),
    "fit_s",
    "draw_s",
    "told",
    "differing",
    "flat_pixels",
    "flat_worst",
    "failed",
)
FLAT_SCALE = 4


class Redrawer:
    """The commands of one program."""

    def __init__(self, options):
        self.options = options
        self.fit, self.draw = options.fit, options.draw

    def run(self, template, **values):
        """Seconds, and what it printed. An error of the program is raised as RuntimeError."""
        flags = self.options.flags
        values = {name: shlex.quote(str(value)) for name, value in values.items()}
        command = template.format(veldt=shlex.quote(self.options.veldt), flags=flags, **values)
        start = time.monotonic()
        done = subprocess.run(shlex.split(command), capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{command}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
        return time.monotonic() - start, done.stdout


def truth_at(truth, source, factor, scale):
    width, height = (round(side * scale) for side in source.size)
    return truth if scale == factor else area_average(truth, width, height)


def told_by(text):
    try:
        return json.loads(text).get(TOLD, "")
    except (ValueError, AttributeError):
        return ""


def opened(path):
    return plain(Image.open(path))


class Task:
    """One input and seed: fitted once, drawn at every scale."""

    def __init__(self, folder, picture, how, seed, scales):
        self.folder, self.picture, self.how, self.seed = folder, picture, how, seed
        self.scales = [scale for scale in scales if scale <= float(picture["factor"])]
        self.kind, self.name = picture["kind"], picture["name"]

    def keys(self):
        return [(self.kind, self.name, self.how, str(self.seed), f"{scale:g}") for scale in self.scales]

    def rows(self, redrawer):
        file = self.folder / f"input/{self.how}/{self.kind}/{self.name}.png"
        source, truth = opened(file), opened(self.folder / f"truth/{self.kind}/{self.name}.png")
        with tempfile.TemporaryDirectory() as scratch:
            model, common = Path(scratch) / "model.safetensors", {}
            values = {"input": file, "model": model, "seed": self.seed}
            try:
                if redrawer.fit:
                    common["fit_s"], text = redrawer.run(redrawer.fit, **values)
                    common["told"] = told_by(text)
                if redrawer.draw:
                    common |= self.honesty(redrawer, values, source, Path(scratch))
            except RuntimeError as error:
                common["failed"] = str(error)
            for scale in self.scales:
                yield self.row(redrawer, values, source, truth, scale, Path(scratch), dict(common))

    def honesty(self, redrawer, values, source, scratch):
        """Its own size must be the source to the byte, flats must be flat."""
        drawn = {}
        for scale in (1, FLAT_SCALE):
            output = scratch / f"own{scale}.png"
            redrawer.run(
                redrawer.draw, output=output, width=source.width * scale, height=source.height * scale, **values
            )
            drawn[scale] = opened(output)
        count, worst = flats(source, drawn[FLAT_SCALE], FLAT_SCALE)
        return {"differing": differing_pixels(source, drawn[1]), "flat_pixels": count, "flat_worst": worst}

    def row(self, redrawer, values, source, truth, scale, scratch, row):
        target = truth_at(truth, source, float(self.picture["factor"]), scale)
        row |= dict(zip(COLUMNS, (*self.keys()[self.scales.index(scale)], *source.size)))
        if redrawer.draw and "failed" not in row:
            output = scratch / f"drawn{scale:g}.png"
            try:
                row["draw_s"], _ = redrawer.run(
                    redrawer.draw, output=output, width=target.width, height=target.height, **values
                )
                drawn = opened(output)
                if drawn.size != target.size:
                    raise RuntimeError(
                        f"drew {drawn.size[0]} x {drawn.size[1]}, not {target.width} x {target.height}"
                    )
                row |= self.scores("", drawn, target)
            except RuntimeError as error:
                row["failed"] = str(error)
        for name, resampler in RESAMPLERS.items():
            row |= self.scores(f"{name}_", source.resize(target.size, resampler), target)
        return row

    @staticmethod
    def scores(prefix, drawn, target):
        if drawn.mode != target.mode:
            mode = "RGBA" if "RGBA" in (drawn.mode, target.mode) else "RGB"
            drawn, target = drawn.convert(mode), target.convert(mode)
        return {f"{prefix}psnr": psnr(drawn, target), f"{prefix}ssim": ssim(drawn, target)}


class Rows:
    """The CSV file. Its first line names the commands, so that no two programs are mixed."""

    def __init__(self, path, redrawer):
        self.path, self.lock = path, threading.Lock()
        options = redrawer.options
        head = "# " + json.dumps(
            {"fit": redrawer.fit, "draw": redrawer.draw, "veldt": options.veldt, "flags": options.flags}
        )
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(head + "\n" + ",".join(COLUMNS) + "\n")
        with open(path, newline="") as file:
            if file.readline().strip() != head:
                sys.exit(
                    f"score.py: error: {path} holds rows of other commands\n  fix: name another file with --output"
                )
            found = list(csv.DictReader(file))
        self.rows = [row for row in found if not row["failed"]]
        if len(self.rows) < len(found):  # they are tried again
            with open(path, "w", newline="") as file:
                file.write(head + "\n")
                table = csv.DictWriter(file, COLUMNS)
                table.writeheader()
                table.writerows(self.rows)

    def done(self):
        return {tuple(row[name] for name in COLUMNS[:5]) for row in self.rows}

    def add(self, row):
        kept = {name: f"{value:.5g}" if isinstance(value, float) else value for name, value in row.items()}
        with self.lock, open(self.path, "a", newline="") as file:
            csv.DictWriter(file, COLUMNS).writerow(kept)
        self.rows.append({name: str(kept.get(name, "")) for name in COLUMNS})


def chosen(options):
    """The tasks, small pictures first."""
    with open(options.set / "list.csv", newline="") as file:
        pictures = list(csv.DictReader(file))
    for flag, column in ((options.kinds, "kind"), (options.names, "name")):
        if flag:
            unknown = set(flag.split(",")) - {picture[column] for picture in pictures}
            if unknown:
                sys.exit(
                    f"score.py: error: no {column} is called {', '.join(sorted(unknown))}\n  fix: look at list.csv"
                )
            pictures = [picture for picture in pictures if picture[column] in flag.split(",")]
    if options.quick:
        pictures = [picture for picture in pictures if picture["quick"] == "1"]
    pictures.sort(key=lambda picture: int(picture["width"]) * int(picture["height"]))
    scales = [float(scale) for scale in options.scales.split(",")]
    seeds = [int(seed) for seed in options.seeds.split(",")]
    return [
        Task(options.set, picture, how, seed, scales)
        for seed in seeds
        for how in options.filters.split(",")
        for picture in pictures[: options.limit]
        if how in picture["filters"].split()
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", metavar="SET", type=Path)
    parser.add_argument("--veldt", default="build/release/bin/veldt")
    parser.add_argument("--flags", default="", help="more flags of fit")
    parser.add_argument("--fit", default=FIT)
    parser.add_argument("--draw", default=DRAW)
    parser.add_argument("--output", type=Path, default=Path("out/redraw/rows.csv"))
    parser.add_argument("--quick", action="store_true", help="about a dozen pictures")
    parser.add_argument("--kinds")
    parser.add_argument("--names")
    parser.add_argument("--filters", default="area")
    parser.add_argument("--scales", default="2,3.3,4,8")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--limit", type=int, help="the smallest N pictures")
    parser.add_argument("--jobs", type=int, default=1, help="inputs at once; times are right with 1 alone")
    options = parser.parse_args()
    redrawer = Redrawer(options)
    rows, tasks = Rows(options.output, redrawer), chosen(options)
    wanted = {key for task in tasks for key in task.keys()}
    done = rows.done()
    left = [task for task in tasks if not done.issuperset(task.keys())]

    def work(task):
        for row in task.rows(redrawer):
            if tuple(row[name] for name in COLUMNS[:5]) not in done:
                rows.add(row)
        print(f"{task.kind} {task.name} {task.how} seed {task.seed}", file=sys.stderr, flush=True)

    with ThreadPoolExecutor(options.jobs) as pool:
        for _ in pool.map(work, left):
            pass
    shown = [row for row in rows.rows if tuple(row[name] for name in COLUMNS[:5]) in wanted]
    print(tables(shown))
    sys.exit(any(row["failed"] for row in shown))


main()
