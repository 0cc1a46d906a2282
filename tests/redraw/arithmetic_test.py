"""What bench/redraw/score.py computes, on pictures whose answers are known. Usage: arithmetic_test.py BENCH_REDRAW"""

import math
import sys
import unittest

import numpy as np
from PIL import Image

sys.path.insert(0, sys.argv.pop(1))
from arithmetic import (  # noqa: E402
    area_average,
    averages,
    differing_pixels,
    flats,
    indexed,
    plain,
    psnr,
    rank_correlation,
    ssim,
    two_tones,
)
from table import below, losers  # noqa: E402


def grey(rows):
    return Image.fromarray(np.array(rows, np.uint8), "L")


class AreaAverages(unittest.TestCase):
    def test_parts_of_samples_count_by_their_share(self):
        found = averages(np.array([0.0, 30.0, 90.0]), 2, 0)
        np.testing.assert_allclose(found, [(0 + 15) / 1.5, (15 + 90) / 1.5])

    def test_whole_ratios_by_either_way(self):
        values = np.random.default_rng(0).random((12, 5))
        np.testing.assert_allclose(averages(values, 4, 0), values.reshape(4, 3, 5).mean(1))
        np.testing.assert_allclose(averages(averages(values, 12, 0), 5, 1), values)

    def test_the_mean_stays(self):
        values = np.random.default_rng(1).random((33, 7))
        np.testing.assert_allclose(averages(values, 10, 0).mean(0), values.mean(0))

    def test_what_is_clear_lends_no_colour(self):
        picture = Image.new("RGBA", (2, 1), (200, 100, 0, 255))
        picture.putpixel((1, 0), (0, 255, 255, 0))
        self.assertEqual(area_average(picture, 1, 1).getpixel((0, 0)), (200, 100, 0, 128))

    def test_two_tones_are_black_from_half_ink_on(self):
        found = two_tones(grey([[0, 127, 128, 255]])).convert("L")
        self.assertEqual(np.asarray(found).tolist(), [[0, 0, 255, 255]])


class Scores(unittest.TestCase):
    def test_psnr_of_one_level(self):
        a = Image.new("RGB", (4, 4), (10, 20, 30))
        b = Image.new("RGB", (4, 4), (11, 20, 30))
        self.assertAlmostEqual(psnr(a, b), 10 * math.log10(255**2 * 3), places=6)
        self.assertEqual(psnr(a, a), 99)

    def test_alpha_counts_over_white_and_over_black(self):
        black, clear = Image.new("RGBA", (3, 3), (0, 0, 0, 255)), Image.new("RGBA", (3, 3), (0, 0, 0, 0))
        self.assertAlmostEqual(psnr(black, clear), 10 * math.log10(2), places=6)

    def test_ssim_of_constants_is_the_luminance_term(self):
        a, b = Image.new("L", (16, 16), 100), Image.new("L", (16, 16), 150)
        c = (0.01 * 255) ** 2
        self.assertAlmostEqual(ssim(a, b), (2 * 100 * 150 + c) / (100**2 + 150**2 + c), places=5)

    def test_ssim_is_1_of_itself_and_falls_with_noise(self):
        values = np.random.default_rng(2).integers(0, 255, (300, 20))
        noisy = np.clip(values + np.random.default_rng(3).integers(-60, 60, values.shape), 0, 255)
        self.assertAlmostEqual(ssim(grey(values), grey(values)), 1, places=5)
        self.assertLess(ssim(grey(values), grey(noisy)), 0.95)


class Honesty(unittest.TestCase):
    def test_pixels_that_differ(self):
        a = Image.new("RGBA", (3, 1), (5, 5, 5, 255))
        b = a.copy()
        b.putpixel((1, 0), (5, 5, 6, 255))
        self.assertEqual(differing_pixels(a, b), 1)
        self.assertEqual(differing_pixels(a, a.convert("RGB")), 0)

    def test_clear_pixels_are_the_same_whatever_their_colour(self):
        self.assertEqual(
            differing_pixels(Image.new("RGBA", (1, 1), (9, 9, 9, 0)), Image.new("RGBA", (1, 1), (0, 0, 0, 0))), 0
        )

    def test_flats_are_the_middles_of_5_x_5_alone(self):
        source = grey(np.full((6, 5), 80))
        drawn = np.full((24, 20), 80)
        drawn[0, 0] = 0  # outside of the middle
        drawn[8, 11] = 83  # the corner of the pixel (2, 2)
        self.assertEqual(flats(source, grey(drawn)), (2, 3))
        source.putpixel((0, 0), 81)
        self.assertEqual(flats(source, grey(drawn)), (1, 0))
        self.assertEqual(flats(grey(np.zeros((4, 9))), grey(np.zeros((16, 36)))), (0, 0))

    def test_what_is_nearly_clear_counts_as_little_as_it_shows(self):
        source, drawn = Image.new("RGBA", (5, 5)), Image.new("RGBA", (20, 20))
        drawn.putpixel((9, 9), (255, 0, 0, 3))
        self.assertEqual(flats(source, drawn), (1, 3))

    def test_palettes_and_bits_become_plain(self):
        self.assertEqual(
            [plain(Image.new(mode, (1, 1))).mode for mode in ("1", "L", "P", "RGB", "RGBA", "LA")],
            ["L", "L", "RGB", "RGB", "RGBA", "RGBA"],
        )

    def test_palettes_keep_every_colour(self):
        picture = Image.fromarray(np.random.default_rng(4).integers(0, 255, (16, 16, 3), np.uint8), "RGB")
        found = indexed(picture)
        self.assertEqual(found.mode, "P")
        self.assertEqual(differing_pixels(found, picture), 0)


class Tables(unittest.TestCase):
    ROW = {
        "kind": "icon",
        "name": "a",
        "filter": "area",
        "seed": "0",
        "scale": "4",
        "bicubic_psnr": "30",
        "lanczos_psnr": "31",
        "nearest_psnr": "40",
    }

    def test_below_is_by_more_than_a_twentieth(self):
        self.assertFalse(below({**self.ROW, "psnr": "30.96"}))
        self.assertTrue(below({**self.ROW, "psnr": "30.94"}))
        self.assertTrue(below({**self.ROW, "kind": "pixel", "psnr": "39.9"}))
        self.assertFalse(below({**self.ROW, "filter": "point", "bicubic_psnr": "50", "psnr": "30.92"}))
        self.assertTrue(below({**self.ROW, "filter": "point", "psnr": "30.88"}))
        self.assertIn("1 of 2", losers([{**self.ROW, "psnr": "31"}, {**self.ROW, "psnr": "29"}]))

    def test_rank_correlation_with_ties(self):
        self.assertAlmostEqual(rank_correlation([1, 2, 3, 9], [10, 20, 30, 31]), 1)
        self.assertAlmostEqual(rank_correlation([1, 2, 3], [5, 4, 3]), -1)
        self.assertAlmostEqual(rank_correlation([1, 1, 2], [1, 2, 3]), math.sqrt(3) / 2)
        self.assertTrue(math.isnan(rank_correlation([1, 1], [1, 2])))


unittest.main()
