#!/usr/bin/env python3
"""Writes frechet.json: Frechet distances by numpy and scipy's sqrtm, for tests/train/frechet_test.cpp.

The rows are made by the same formula in the test. Run it from anywhere.
"""
import json
import pathlib

import numpy as np
from scipy.linalg import sqrtm


def rows(count, features, phase):
    i, k = np.meshgrid(np.arange(count), np.arange(features), indexing="ij")
    return np.sin(0.37 * i * (k + 1) + phase) + phase * np.cos(0.11 * i * i + k) + 0.3 * phase * k


def distance(a, b):
    apart = a.mean(0) - b.mean(0)
    one, other = np.cov(a, rowvar=False), np.cov(b, rowvar=False)
    return float(apart @ apart + np.trace(one + other - 2 * sqrtm(one @ other).real))


def main():
    cases = [{"rows": [n, m], "features": d, "phase": phase,
              "distance": distance(rows(n, d, 0.2), rows(m, d, phase))}
             for n, m, d, phase in [(50, 80, 3, 0.9), (200, 150, 17, 0.5), (400, 500, 60, 1.3), (300, 300, 10, 0.21)]]
    pathlib.Path(__file__).with_name("frechet.json").write_text(json.dumps(cases, indent=1) + "\n")


if __name__ == "__main__":
    main()
