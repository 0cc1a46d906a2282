#!/usr/bin/env python3
"""Bits a pixel and PSNR (of RGB) of picture formats beside veldt pack's, on a folder of PNGs.

  picture_codecs.py run FOLDER OUT.json [--only NAME,..] [--veldt COMMAND] [--steps N] [--jobs N]
      writes and reads files of all formats at several sizes; adds to OUT.json, picture by picture.
  picture_codecs.py table OUT.json [--published NAME=FILE.tsv ..] [--chart OUT.svg]
      the mean PSNR at given sizes, the mean BD-rate against each format, and a chart of the means. A published
      table has columns seq_name, rate_bpp and psnr_db, as results/v5.0/image-kodak.tsv of Cool-chic has.

Needs cjpeg, opj_compress, cwebp, avifenc and cjxl with their decoders (Debian: libjpeg-turbo-progs, libopenjp2-tools, webp,
libavif-bin, libjxl-tools), NumPy and Pillow. The chart needs Matplotlib.
"""
import argparse
import concurrent.futures
import csv
import json
import subprocess
import tempfile
from pathlib import Path

import numpy
from PIL import Image

AT = (0.1, 0.25, 0.5, 1.0, 1.5)  # bits a pixel of the table

# Name: levels, the command that writes OUT, the one that reads it into BACK (none: Pillow reads OUT), and the ending.
FORMATS = {
    "JPEG": ((5, 10, 20, 40, 60, 75, 85, 92), "cjpeg -quality {q} -optimize -progressive -outfile {out}.jpg {ppm}", None, ".jpg"),
    "JPEG 2000": ((400, 200, 120, 80, 48, 32, 20, 12, 8), "opj_compress -i {png} -o {out}.jp2 -r {q} -I",
                  "opj_decompress -i {out}.jp2 -o {back}", ".jp2"),
    "WebP": ((1, 10, 25, 50, 70, 85, 95), "cwebp -m 6 -q {q} {png} -o {out}.webp", None, ".webp"),
    "AVIF": ((63, 55, 48, 40, 32, 24, 16, 10), "avifenc -s 2 -y 444 -d 8 --min {q} --max {q} -a tune=psnr {png} {out}.avif",
             "avifdec {out}.avif {back}", ".avif"),
    "JPEG XL": ((15, 9, 6, 4, 2.5, 1.5, 1, 0.6), "cjxl -d {q} -e 8 {png} {out}.jxl", "djxl {out}.jxl {back}", ".jxl"),
    "Veldt": (AT, "{veldt} pack {png} -o {out}.vp --bpp {q} --steps {steps} --family photograph --quiet",
              "{veldt} unpack {out}.vp -o {back} --quiet", ".vp"),
}


def run(command):
    subprocess.run(command.split(), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def psnr(a, b):
    difference = numpy.asarray(a, numpy.float64) - numpy.asarray(b, numpy.float64)
    return float(-10 * numpy.log10(numpy.mean(difference**2) / 255**2))


def points_of(path, name, options):
    levels, write, read, ending = FORMATS[name]
    points = []
    with tempfile.TemporaryDirectory() as made:
        names = {"png": f"{made}/in.png", "ppm": f"{made}/in.ppm", "out": f"{made}/out", "back": f"{made}/back.png",
                 "veldt": options.veldt, "steps": options.steps}
        picture = Image.open(path).convert("RGB")
        picture.save(names["png"])
        picture.save(names["ppm"])
        for q in levels:
            run(write.format(q=q, **names))
            if read:
                run(read.format(**names))
            back = Image.open(names["back"] if read else names["out"] + ending).convert("RGB")
            size = Path(names["out"] + ending).stat().st_size
            points.append((8 * size / (picture.width * picture.height), psnr(picture, back)))
    return sorted(points)


def run_all(options):
    output = Path(options.json)
    curves = json.loads(output.read_text()) if output.exists() else {}
    names = options.only.split(",") if options.only else FORMATS
    work = [(path, name) for path in sorted(Path(options.folder).glob("*.png")) for name in names]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        done = {pool.submit(points_of, path, name, options): (path, name) for path, name in work}
        for future in concurrent.futures.as_completed(done):
            path, name = done[future]
            curves.setdefault(name, {})[path.stem] = future.result()
            output.write_text(json.dumps(curves))
            print(path.stem, name, *(f"{b:.3f}:{p:.2f}" for b, p in future.result()), flush=True)


def published(text):
    name, path = text.split("=", 1)
    curves = {}
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            curves.setdefault(row["seq_name"], []).append((float(row["rate_bpp"]), float(row["psnr_db"])))
    return name, {picture: sorted(points) for picture, points in curves.items()}


def at_rate(curve, rate):
    rates, values = zip(*curve)
    return numpy.interp(numpy.log(rate), numpy.log(rates), values, left=numpy.nan, right=numpy.nan)


def bd_rate(ours, theirs):
    """How many per cent more bits ours takes at the same PSNR: the mean of the logarithm of the rate, linear between the
    points, over the PSNR that both reach (Bjontegaard 2001 fits cubics, which bend where points are few)."""
    low = max(ours[0][1], theirs[0][1])
    high = min(ours[-1][1], theirs[-1][1])
    if low >= high:
        return numpy.nan
    at = numpy.linspace(low, high, 200)
    log_rate = [numpy.interp(at, [p for _, p in c], numpy.log([b for b, _ in c])) for c in (ours, theirs)]
    return 100 * (numpy.exp(numpy.mean(log_rate[0] - log_rate[1])) - 1)


def chart(means, path):
    import matplotlib  # pylint: disable=import-outside-toplevel
    matplotlib.use("svg")
    import matplotlib.pyplot as plt  # pylint: disable=import-outside-toplevel
    matplotlib.rcParams.update({"svg.hashsalt": "veldt", "svg.fonttype": "none"})
    figure, axes = plt.subplots(figsize=(7, 4.5))
    for name, (rates, values) in means.items():
        axes.plot(rates, values, label=name, linewidth=2.4 if name == "Veldt" else 1.2)
    axes.set_xscale("log")
    axes.set_xticks(AT, [str(a) for a in AT])
    axes.minorticks_off()
    axes.set_xlabel("bits a pixel")
    axes.set_ylabel("mean PSNR of RGB, dB")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def table(options):
    curves = json.loads(Path(options.json).read_text())
    curves.update(published(text) for text in options.published)
    pictures = set.intersection(*(set(c) for c in curves.values()))
    print(f"{len(pictures)} pictures; mean PSNR at bits a pixel of", *AT)
    fine = numpy.exp(numpy.linspace(numpy.log(0.06), numpy.log(1.8), 60))
    means = {}
    for name, of in curves.items():
        values = numpy.array([[at_rate(of[p], rate) for rate in fine] for p in sorted(pictures)]).mean(axis=0)
        means[name] = (fine, values)  # nan: not every picture has files around it
        print(f"{name:12}", *(f"{numpy.mean([at_rate(of[p], at) for p in pictures]):6.2f}" for at in AT))
    if "Veldt" in curves:
        print("Veldt's BD-rate against each, mean over the pictures, least and greatest")
        for name, of in curves.items():
            if name != "Veldt":
                rates = [bd_rate(curves["Veldt"][p], of[p]) for p in pictures]
                print(f"{name:12} {numpy.nanmean(rates):+6.1f} %  {numpy.nanmin(rates):+6.1f}  {numpy.nanmax(rates):+6.1f}")
    if options.chart:
        chart(means, options.chart)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    runs = verbs.add_parser("run")
    runs.add_argument("folder")
    runs.add_argument("json")
    runs.add_argument("--only", help="names of formats, between commas")
    runs.add_argument("--veldt", default="build/release/bin/veldt")
    runs.add_argument("--steps", type=int, default=3000)
    runs.add_argument("--jobs", type=int, default=1)
    runs.set_defaults(verb=run_all)
    tables = verbs.add_parser("table")
    tables.add_argument("json")
    tables.add_argument("--published", nargs="*", default=[])
    tables.add_argument("--chart")
    tables.set_defaults(verb=table)
    options = parser.parse_args()
    options.verb(options)


if __name__ == "__main__":
    main()
