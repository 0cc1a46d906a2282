"""What bench/redraw/sounds.py computes, on sounds whose answers are known. Usage: waves_test.py BENCH_REDRAW"""

import struct
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

sys.path.insert(0, sys.argv.pop(1))
from waves import by_lines, by_sinc, low_passed, read_wav, snr, snr_in_band, steps, write_wav  # noqa: E402


def wave(cycles, frames):
    """A wave of so many cycles a frame."""
    return np.sin(2 * np.pi * cycles * np.arange(frames) + 0.3)[:, None]


class Files(unittest.TestCase):
    def test_what_was_written_comes_back_rounded(self):
        sound = np.random.default_rng(1).uniform(-1.1, 1.1, (101, 3))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "s.wav"
            for bits in (8, 16):
                write_wav(path, sound, 8000, bits)
                found, rate = read_wav(path)
                self.assertEqual(rate, 8000)
                np.testing.assert_array_equal(found * 2 ** (bits - 1), steps(sound, bits))

    def test_floats_are_read(self):
        body = np.array([0.5, -2], "<f4").tobytes()
        head = b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 3, 1, 9, 36, 4, 32) + b"data" + struct.pack("<I", 8)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "s.wav"
            path.write_bytes(b"RIFF" + struct.pack("<I", 44) + head + body)
            np.testing.assert_array_equal(read_wav(path)[0], [[0.5], [-2]])


class Resampling(unittest.TestCase):
    def test_low_passed_keeps_the_band_and_nothing_above(self):
        middle = slice(2000, 4000)
        for factor in (2, 4):
            kept, gone = wave(0.89 * 0.5 / factor, 6000), wave(1.01 * 0.5 / factor, 6000)
            self.assertGreater(snr(kept[middle], low_passed(kept, factor)[middle]), 100)
            self.assertLess(np.abs(low_passed(gone, factor)[middle]).max(), 1e-5)

    def test_the_sinc_keeps_the_frames_and_is_true_between_them(self):
        truth = wave(0.2, 4000)
        drawn = by_sinc(truth[::2], 2)
        np.testing.assert_allclose(drawn[::2], truth[::2], atol=1e-12)
        self.assertGreater(snr(truth[1000:3000], drawn[1000:3000]), 100)

    def test_lines_are_straight(self):
        np.testing.assert_allclose(by_lines(np.array([[0.0], [2.0]]), 4)[:, 0], [0, 0.5, 1, 1.5, 2, 2, 2, 2])


class Ratios(unittest.TestCase):
    def test_a_tenth_of_the_amplitude_is_20_db(self):
        truth = wave(0.01, 1000)
        self.assertAlmostEqual(snr(truth, truth * 1.1), 20)
        self.assertEqual(snr(truth, truth), 160)

    def test_what_lies_above_the_band_does_not_count_in_it(self):
        truth = wave(0.1, 1000)
        self.assertGreater(snr_in_band(truth, truth + wave(0.3, 1000), 2), 100)
        self.assertAlmostEqual(snr_in_band(truth, truth + 0.1 * wave(0.2, 1000), 2), 20, 5)


if __name__ == "__main__":
    unittest.main()
