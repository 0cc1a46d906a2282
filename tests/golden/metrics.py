#!/usr/bin/env python3
"""Writes metrics.json: PSNR and SSIM of picture pairs by scikit-image, for tests/train/picture_scores_test.cpp.

Needs scikit-image and numpy. The pictures are made by the same formula in the test. Run it from anywhere.
"""
import json
import pathlib

import numpy as np
from skimage.metrics import peak_signal_noise_ratio, structural_similarity


def picture(height, width, channels, phase):
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(channels), indexing="ij")
    wave = 0.5 + 0.3 * np.sin(0.7 * x + 0.9 * c + phase) * np.cos(0.4 * y - phase) + 0.2 * np.sin(0.05 * x * y)
    return np.clip(wave, 0, 1).astype(np.float32)


def case(height, width, channels, phase, threshold=False):
    a, b = picture(height, width, channels, 0.0), picture(height, width, channels, phase)
    if threshold:
        a, b = np.float32(a >= 0.5), np.float32(b >= 0.5)
    a64, b64 = a.astype(np.float64), b.astype(np.float64)
    difference = np.abs(a64 - b64)
    return {
        "height": height, "width": width, "channels": channels, "phase": phase, "threshold": threshold,
        "psnr": float(peak_signal_noise_ratio(a64, b64, data_range=1)),
        "ssim": float(structural_similarity(a64, b64, data_range=1, gaussian_weights=True, sigma=1.5,
                                            use_sample_covariance=False, channel_axis=2)),
        "mae": float(255 * difference.mean()), "max_abs": float(255 * difference.max()),
        "wrong_pixels": int(np.any((a >= 0.5) != (b >= 0.5), axis=2).sum()),
    }


def main():
    cases = [case(40, 57, 1, 0.3), case(31, 29, 3, 0.05), case(11, 11, 1, 1.0), case(64, 20, 4, 2.0),
             case(48, 48, 1, 0.2, True)]
    path = pathlib.Path(__file__).with_name("metrics.json")
    path.write_text(json.dumps(cases, indent=1) + "\n")


if __name__ == "__main__":
    main()
