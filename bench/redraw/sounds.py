#!/usr/bin/env python3
"""Fits sounds that were made small, plays them at higher rates, and compares with the truth.

usage: sounds.py [--veldt PROGRAM] [--flags "..."] [--output rows.csv] [--names a,b] [--wav FILE ...]

Truths are made here, and pieces of each --wav. Each is low-passed, every second or fourth frame is kept, rounded to 16
or 8 bits and fitted by `veldt fit`; `veldt render --rate` plays it at 2 and 4 times its rate. Beside it stand a
windowed sinc and straight lines. Rows go into --output; the tables are printed. The exit status is 1 where a sound is
below the sinc by more than 0.1 dB in band, with its ends or without, or its own samples do not come back when rounded.
"""

import argparse
import csv
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from waves import by_lines, by_sinc, low_passed, read_wav, snr, snr_in_band, steps, write_wav

RATE = 48000
MARGIN = 4800  # frames of a truth before and after what is kept of it, so that filters see no ends
MOST_BELOW = 0.1  # dB under the sinc
METHODS = ("veldt", "sinc", "lines")
MEASURES = ("band", "inner", "full")
ENDS = 300  # frames of a small sound: further in, what lies beyond its ends does not count
COLUMNS = (
    "name",
    "bits",
    "kept",
    "scale",
    "frames",
    *(f"{method}_{measure}" for measure in MEASURES for method in METHODS),
    "own_snr",
    "own_worst",
    "fit_s",
    "draw_s",
    "bytes",
)


def chirp(seconds, low, high):
    t = np.arange(int(seconds * RATE)) / RATE
    return np.sin(2 * np.pi * low * seconds / np.log(high / low) * ((high / low) ** (t / seconds) - 1))


def plucked(seconds, pitches, random):
    """Karplus and Strong 1983: noise in a loop that is smoothed each time round."""
    out = np.zeros(int(seconds * RATE))
    for i, hertz in enumerate(pitches):
        first, period = int(i * seconds / len(pitches) * RATE), int(RATE / hertz)
        string = np.zeros(len(out) - first)
        string[:period] = random.uniform(-1, 1, min(period, len(string)))
        for k in range(period + 1, len(string)):
            string[k] += 0.498 * (string[k - period] + string[k - period - 1])
        out[first:] += string
    return out


def spoken(seconds, pitch, random):
    """A train of pulses, and breath, through the resonances of four vowels one after the other."""
    n = int(seconds * RATE)
    hertz = pitch * (1 + 0.1 * np.sin(2 * np.pi * 3 * np.arange(n) / RATE))
    pulses = np.diff(np.floor(np.cumsum(hertz) / RATE), prepend=0) + 0.02 * random.standard_normal(n)
    vowels = [(730, 1090, 2440), (270, 2290, 3010), (300, 870, 2240), (530, 1840, 2480)]  # Peterson, Barney 1952
    out = np.zeros(n)
    for i, formants in enumerate(vowels):
        part = slice(i * n // 4, (i + 1) * n // 4)
        source = pulses[part]
        for formant in formants:
            r = np.exp(-np.pi * 90 / RATE)
            a, b = 2 * r * np.cos(2 * np.pi * formant / RATE), -r * r
            y1 = y2 = 0.0
            filtered = np.empty(len(source))
            for k, x in enumerate(source):
                y1, y2 = x + a * y1 + b * y2, y1
                filtered[k] = y1
            source = filtered / np.abs(filtered).max()
        out[part] = source * np.minimum(1, np.minimum(np.arange(len(source)), np.arange(len(source))[::-1]) / 480)
    return out


def drums(seconds, random):
    out = np.zeros(int(seconds * RATE))
    for i in range(int(seconds * 8)):
        first = int(i / 8 * RATE)
        t = np.arange(len(out) - first) / RATE
        if i % 2:
            hit = random.standard_normal(len(t)) * np.exp(-t * 40)
        else:
            hit = np.sin(2 * np.pi * (50 * t - 30 * np.exp(-t * 25) / 25 * 8)) * np.exp(-t * 12)
        out[first:] += hit
    return out


def truths():
    """Name: [frames, channels] with a margin at both ends, 48,000 a second."""
    random = np.random.default_rng(18)
    more = 2 * MARGIN / RATE
    t = np.arange(RATE + MARGIN) / RATE
    silence = np.zeros(MARGIN)
    noise = random.standard_normal(RATE // 2 + 2 * MARGIN)
    spectrum = np.fft.rfft(noise) / np.sqrt(np.maximum(np.arange(len(noise) // 2 + 1), 20))
    bells = sum(np.sin(2 * np.pi * f * t) * np.exp(-t * f / 300) for f in (523, 1187, 2093, 3321, 5274, 7902))
    strings, voice = plucked(1.4, (220, 330, 262, 440), random), spoken(1.2, 120, random)
    both = np.stack([sound[:RATE] / np.abs(sound).max() for sound in (strings, voice)], axis=1)
    found = {
        "chirp_low": chirp(1 + more, 40, 2000),
        "chirp_high": chirp(1 + more, 200, 20000),
        "tone": np.sin(2 * np.pi * 440 * t[: RATE // 4 + 2 * MARGIN]),
        "bells": np.concatenate([silence, bells]),
        "plucked": np.concatenate([silence, strings]),
        "spoken": np.concatenate([silence, voice, silence]),
        "high_voice": np.concatenate([silence, spoken(0.5, 310, random), silence]),
        "drums": np.concatenate([silence, drums(2 + more / 2, random)]),
        "noise": noise,
        "pink": np.fft.irfft(spectrum, len(noise)),
        "clicks": (np.arange(RATE // 2 + 2 * MARGIN) % 1511 == 700) * 1.0,
        "quiet": chirp(0.5 + more, 80, 4000) * 0.01,
        "stereo": both,
        "three_s": np.concatenate([silence, np.tile(voice, 3)])[: 3 * RATE + 2 * MARGIN],
    }
    out = {}
    for name, sound in found.items():
        sound = sound.reshape(len(sound), -1)
        out[name] = sound * (0.9 * (0.01 if name == "quiet" else 1) / np.abs(sound).max())
    return {name: (sound, RATE) for name, sound in out.items()}


def pieces(path):
    """Three of a file: a quarter of a second, one and three."""
    sound, rate = read_wav(path)
    for i, seconds in enumerate((0.25, 1, 3)):
        first = (i + 1) * len(sound) // 5
        piece = sound[first - MARGIN : first + int(seconds * rate) + MARGIN]
        yield f"{path.stem}_{seconds:g}s", (piece * 0.9 / np.abs(piece).max(), rate)


class Player:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder

    def run(self, *words):
        start = time.monotonic()
        done = subprocess.run([self.options.veldt, *map(str, words)], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
        return time.monotonic() - start

    def fit(self, sound, rate, bits):
        write_wav(self.folder / "small.wav", sound, rate, bits)
        model = self.folder / "model.safetensors"
        flags = shlex.split(self.options.flags)
        seconds = self.run("fit", self.folder / "small.wav", "-o", model, "--quiet", *flags)
        return seconds, model.stat().st_size

    def play(self, rate):
        drawn = self.folder / "drawn.wav"
        seconds = self.run("render", self.folder / "model.safetensors", "-o", drawn, "--rate", rate, "--quiet")
        return seconds, read_wav(drawn)[0]


def middle(sound):
    """Without the margins, of a length that divides by 4."""
    return sound[MARGIN : MARGIN + (len(sound) - 2 * MARGIN) // 4 * 4]


def rows_of(name, truth, rate, kept, bits, player):
    band = middle(low_passed(truth, kept))
    small = steps(band[::kept], bits) / (1 << (bits - 1))
    fit_s, size = player.fit(small, rate // kept, bits)
    own = player.play(rate // kept)[1]
    worst = np.abs(own - small).max() * (1 << (bits - 1))
    for scale in (2, 4):
        if scale > kept:
            continue
        draw_s, drawn = player.play(rate // kept * scale)
        finer = kept // scale
        whole = middle(low_passed(truth, finer) if finer > 1 else truth)[::finer]
        drawings = {"veldt": drawn, "sinc": by_sinc(small, scale), "lines": by_lines(small, scale)}
        row = {"name": name, "bits": bits, "kept": kept, "scale": scale, "frames": len(small)}
        for method, sound in drawings.items():
            known = band[::finer]
            row[f"{method}_band"] = snr_in_band(known, sound, scale)
            inner = slice(ENDS * scale, -ENDS * scale)
            row[f"{method}_inner"] = snr_in_band(known[inner], sound[inner], scale)
            row[f"{method}_full"] = snr(whole, sound)
        row |= {"own_snr": snr(small, own), "own_worst": worst, "fit_s": fit_s, "draw_s": draw_s, "bytes": size}
        yield row


def show(rows):
    print(f"\n{'sound':14}{'bits':>5}{'1/':>3}{'x':>3}{'frames':>8} | {'in band':^27} | {'without the ends':^27} | "
          f"{'against the truth':^27} |{'own':>7}{'worst':>8} |{'fit s':>6}{'bytes/frame':>12}")
    print(f"{'':33} | " + " | ".join("{:>9}{:>9}{:>9}".format(*METHODS) for _ in MEASURES) + " |")
    for row in rows:
        text = f"{row['name']:14}{row['bits']:5}{row['kept']:3}{row['scale']:3}{row['frames']:8} | "
        for measure in MEASURES:
            text += "".join(f"{row[f'{method}_{measure}']:9.2f}" for method in METHODS) + " | "
        print(text[:-1] + f"{row['own_snr']:7.1f}{row['own_worst']:8.3f} |{row['fit_s']:6.2f}"
              f"{row['bytes'] / row['frames']:12.2f}")
    for scale in (2, 4):
        for measure in MEASURES:
            gains = [r[f"veldt_{measure}"] - r[f"sinc_{measure}"] for r in rows if r["scale"] == scale]
            if gains:
                print(f"{scale}x, {measure}: beside the sinc {np.mean(gains):+.2f} dB on the mean, "
                      f"{min(gains):+.2f} at least, of {len(gains)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--veldt", default="build/release/bin/veldt")
    parser.add_argument("--flags", default="")
    parser.add_argument("--output", type=Path, default=Path("out/redraw/sounds.csv"))
    parser.add_argument("--names", default="")
    parser.add_argument("--wav", type=Path, nargs="*", default=[])
    options = parser.parse_args()
    sounds = truths()
    for path in options.wav:
        sounds |= dict(pieces(path))
    wanted = options.names.split(",") if options.names else list(sounds)
    rows = []
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, options.output.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        player = Player(options, Path(folder))
        for name in wanted:
            truth, rate = sounds[name]
            for kept, bits in ((2, 16), (4, 16), (4, 8)):
                for row in rows_of(name, truth, rate, kept, bits, player):
                    rows.append(row)
                    writer.writerow(row)
                    file.flush()
    show(rows)
    failed = [
        row
        for row in rows
        if any(row[f"veldt_{m}"] < row[f"sinc_{m}"] - MOST_BELOW for m in ("band", "inner")) or row["own_worst"] >= 0.5
    ]
    for row in failed:
        print(f"failed: {row['name']}, {row['bits']} bits, every {row['kept']}th frame, {row['scale']}x")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
