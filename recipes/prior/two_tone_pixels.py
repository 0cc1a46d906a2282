#!/usr/bin/env python3
"""Trains the small network that guesses a pixel of a two-tone drawing from those before it, for packed drawings.

    two_tone_pixels.py FOLDER -o veldt/codec/drawing_prior.cpp [--minutes 13] [--hidden 32] [--seed 0]

FOLDER holds drawings of drawings.py --two-tone. Needs torch, numpy and Pillow. The network is 84 pixels, two hidden
layers with ReLU, one logit; its weights are rounded to 1/64 while it learns, and computed in integers by the codec
(SOURCE below). Written is the source of those numbers. Two runs make different ones.
"""
import argparse
import textwrap
import time
from pathlib import Path

import numpy
import torch
from PIL import Image
from torch.nn import functional

ABOVE, BESIDE = 7, 7
PLACES = [(dx, dy) for dy in range(-ABOVE, 1) for dx in range(-BESIDE, BESIDE + 1)
          if (dy < 0 or dx < 0) and dx * dx + dy * dy <= 52]

SOURCE = """\
// Written by recipes/prior/two_tone_pixels.py, which has the layout: the pixels that are seen, then the weights of
// three layers, [out, in] in 1/64, and their constants in 1/4096.
#include "veldt/codec/drawing_prior.h"

#include <algorithm>
#include <iterator>

namespace veldt::codec {
namespace {

@numbers@

constexpr int kPriorHidden = std::size(kPriorConstants0), kPriorSeen = std::size(kPriorPlaces) / 2;

}  // namespace

std::optional<std::int32_t> prior_logit(const std::uint8_t* here, std::ptrdiff_t stride) {
  // A pixel is -1 or 1. Sums are below 84 * 127 in 1/64, then below 2^29 in 1/2^14.
  std::int32_t seen[kPriorSeen], ones = 0;
  for (int k = 0; k < kPriorSeen; ++k) {
    const std::int32_t pixel = here[kPriorPlaces[2 * k + 1] * stride + kPriorPlaces[2 * k]];
    ones += pixel;
    seen[k] = 2 * pixel - 1;
  }
  if (ones == 0 || ones == kPriorSeen) return std::nullopt;
  std::int32_t first[kPriorHidden], second[kPriorHidden];
  for (int unit = 0; unit < kPriorHidden; ++unit) {
    std::int32_t sum = 0;
    for (int k = 0; k < kPriorSeen; ++k) sum += kPriorWeights0[unit * kPriorSeen + k] * seen[k];
    first[unit] = std::max(sum * 64 + kPriorConstants0[unit], 0) >> 4;
  }
  for (int unit = 0; unit < kPriorHidden; ++unit) {
    std::int32_t sum = 0;
    for (int k = 0; k < kPriorHidden; ++k) sum += kPriorWeights1[unit * kPriorHidden + k] * first[k];
    second[unit] = std::clamp((sum >> 2) + kPriorConstants1[unit], 0, 1 << 20) >> 4;
  }
  std::int32_t sum = 0;
  for (int k = 0; k < kPriorHidden; ++k) sum += kPriorWeights2[k] * second[k];
  return ((sum >> 2) + kPriorConstants2[0]) >> 4;
}

}  // namespace veldt::codec
"""


def pixels_and_what_is_before(file, rng, most=8000):
    """Bits [n, places] and [n]; of places around which all is alike only a few."""
    ink = (numpy.asarray(Image.open(file).convert("L")) < 128).astype(numpy.uint8)
    border = numpy.concatenate([ink[0], ink[-1], ink[1:-1, 0], ink[1:-1, -1]])
    ink ^= numpy.uint8(border.mean() > 0.5)  # as the codec has it: most of the border is 0
    height, width = ink.shape
    # The margins of the codec's canvas: 0 above; to the right the row's last; to the left, as long as the row is
    # not finished, what is above its first.
    wide = numpy.pad(ink, ((ABOVE, 0), (BESIDE, 0)))
    wide[ABOVE + 1:, :BESIDE] = ink[:-1, :1]
    wide = numpy.concatenate([wide] + [wide[:, -1:]] * BESIDE, axis=1)
    seen = numpy.stack([wide[ABOVE + dy:ABOVE + dy + height, BESIDE + dx:BESIDE + dx + width] for dx, dy in PLACES], -1)
    seen, ink = seen.reshape(-1, len(PLACES)), ink.reshape(-1)
    count = seen.sum(1)
    kept = numpy.flatnonzero(((count > 0) & (count < len(PLACES))) | (rng.random(len(ink)) < 0.01))
    kept = kept[rng.permutation(len(kept))[:most]]
    return numpy.packbits(seen[kept].astype(bool), axis=1), ink[kept]


def rounded(weights):
    return weights + ((weights * 64).round().clamp(-127, 127) / 64 - weights).detach()


class Guesser(torch.nn.Module):
    def __init__(self, hidden):
        super().__init__()
        sizes = [len(PLACES), hidden, hidden, 1]
        self.layers = torch.nn.ModuleList(torch.nn.Linear(i, o) for i, o in zip(sizes, sizes[1:]))
        self.rounds = False

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            weight = rounded(layer.weight) if self.rounds else layer.weight
            x = functional.linear(torch.relu(x) if i else x, weight, layer.bias)
        return x[:, 0]


def train(inputs, targets, hidden, minutes):
    guesser = Guesser(hidden)
    adam = torch.optim.Adam(guesser.parameters())
    shifts = torch.arange(7, -1, -1, dtype=torch.uint8)
    order = torch.randperm(len(inputs))
    test, rest = order[:len(order) // 50], order[len(order) // 50:]

    def loss_of(rows):
        bits = (inputs[rows].unsqueeze(-1) >> shifts & 1).reshape(len(rows), -1)[:, :len(PLACES)]
        return functional.binary_cross_entropy_with_logits(guesser(bits.float() * 2 - 1), targets[rows])

    begin, step, mean = time.time(), 0, 0
    while (done := (time.time() - begin) / 60 / minutes) < 1:
        guesser.rounds = done > 0.6
        for group in adam.param_groups:
            group["lr"] = 5e-3 * min(1, step / 300 + 0.05) * (1 - done) + 1e-5
        loss = loss_of(rest[torch.randint(len(rest), (1024,))])
        adam.zero_grad()
        loss.backward()
        adam.step()
        step += 1
        mean += (loss.item() / 0.6931 - mean) * max(0.002, 1 / step)
        if step % 2000 == 0:
            print(f"step {step}: {mean:.4f} bits a pixel", flush=True)
    guesser.rounds = True
    with torch.no_grad():
        print(f"step {step}: {loss_of(test).item() / 0.6931:.4f} bits of a pixel not seen")
    return guesser


def source_of(guesser, hidden):
    """C++: the places, then for each layer its weights in 1/64 and its constants in 1/4096."""
    def numbers(name, kind, values):
        text = textwrap.fill(", ".join(str(int(v)) for v in values), 108, initial_indent="    ", subsequent_indent="    ")
        return f"const {kind} {name}[] = {{\n{text}}};\n"
    parts = [numbers("kPriorPlaces", "std::int8_t", [v for place in PLACES for v in place])]
    for i, layer in enumerate(guesser.layers):
        parts.append(numbers(f"kPriorWeights{i}", "std::int8_t",
                             (layer.weight.detach() * 64).round().clamp(-127, 127).flatten()))
        parts.append(numbers(f"kPriorConstants{i}", "std::int32_t", (layer.bias.detach() * 4096).round()))
    return parts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=13)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    rng = numpy.random.default_rng(arguments.seed)
    found = [pixels_and_what_is_before(file, rng) for file in sorted(arguments.folder.rglob("*.png"))]
    inputs, targets = (torch.from_numpy(numpy.concatenate(part)) for part in zip(*found))
    print(f"{len(inputs)} pixels of {len(found)} drawings, {len(PLACES)} places")
    guesser = train(inputs, targets.float(), arguments.hidden, arguments.minutes)
    parts = source_of(guesser, arguments.hidden)
    arguments.output.write_text(SOURCE.replace("@numbers@", "\n".join(parts).strip()))


if __name__ == "__main__":
    main()
