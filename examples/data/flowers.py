#!/usr/bin/env python3
"""Makes flowers.csv: 150 flowers of each of two invented species, measured in centimetres. Public domain (CC0).

Petals of species 1 are longer and wider than those of species 0, and stems tell nothing; the two overlap, so that no
line tells every flower apart.

usage: flowers.py >flowers.csv
"""
import random


def main():
    rng = random.Random(7)
    rows = []
    for species in (0, 1):
        for _ in range(150):
            length = rng.gauss(3.1 + 1.3 * species, 0.5)
            width = rng.gauss(1.0 + 0.5 * species, 0.25) + 0.1 * (length - 3.1 - 1.3 * species)
            rows.append((length, width, rng.gauss(30, 6), species))
    rng.shuffle(rows)
    print("petal_length,petal_width,stem_length,species")
    for row in rows:
        print("{:.2f},{:.2f},{:.1f},{}".format(*row))


if __name__ == "__main__":
    main()
