"""The tables of score.py, from the rows of its CSV file."""

import statistics

from arithmetic import rank_correlation

TOLERANCE = {"area": 0.05}  # dB below the bar
TOLERANCE_OF_OTHERS = 0.1  # inputs that were not made by area averaging
WARNED = 0.0
SIDES = (16, 48, 128, 200, 512)  # of the table of times


def number(row, name):
    return float(row[name]) if row[name] != "" else None


def gain(row, over="lanczos", what="psnr"):
    return number(row, what) - number(row, f"{over}_{what}")


def bar(row):
    """What a redraw must reach: Lanczos3, of area averages bicubic too, of pixel art its own squares."""
    if row["kind"] == "pixel":
        return number(row, "nearest_psnr")
    lanczos = number(row, "lanczos_psnr")
    return max(number(row, "bicubic_psnr"), lanczos) if row["filter"] == "area" else lanczos


def below(row):
    return number(row, "psnr") < bar(row) - TOLERANCE.get(row["filter"], TOLERANCE_OF_OTHERS)


def markdown(cells):
    widths = [max(map(len, column)) for column in zip(*cells)]
    lines = [cells[0], ["-" * max(3, width) for width in widths], *cells[1:]]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |" for line in lines
    )


def grouped(rows, *names):
    found = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return found


def mean(values):
    return statistics.fmean(values) if values else float("nan")


def gains(rows):
    """A line for each filter, kind and scale."""
    head = [
        "shrunk by",
        "kind",
        "scale",
        "n",
        "PSNR",
        "over Lanczos3",
        "worst",
        "of",
        "over bicubic",
        "over nearest",
        "SSIM",
        "over Lanczos3",
        "below",
    ]
    cells = [head]
    for (how, kind, scale), group in grouped(rows, "filter", "kind", "scale").items():
        worst = min(group, key=gain)
        cells.append(
            [
                how,
                kind,
                scale,
                str(len(group)),
                f"{mean([number(r, 'psnr') for r in group]):.2f}",
                f"{mean(list(map(gain, group))):+.2f}",
                f"{gain(worst):+.2f}",
                worst["name"],
                *(f"{mean([gain(r, name) for r in group]):+.2f}" for name in ("bicubic", "nearest")),
                f"{mean([number(r, 'ssim') for r in group]):.4f}",
                f"{mean([gain(r, 'lanczos', 'ssim') for r in group]):+.4f}",
                str(sum(map(below, group))),
            ]
        )
    return markdown(cells)


def resamplers(rows):
    names = ("nearest", "bicubic", "lanczos")
    cells = [["shrunk by", "kind", "scale", "n", *(f"{name} {what}" for name in names for what in ("PSNR", "SSIM"))]]
    for (how, kind, scale), group in grouped(rows, "filter", "kind", "scale").items():
        values = [
            (mean([number(r, f"{name}_{what}") for r in group]), digits)
            for name in names
            for what, digits in (("psnr", 2), ("ssim", 4))
        ]
        cells.append([how, kind, scale, str(len(group)), *(f"{value:.{digits}f}" for value, digits in values)])
    return markdown(cells)


def losers(rows):
    found = [
        f"{r['name']} ({r['kind']}, {r['filter']}, seed {r['seed']}, {r['scale']}x: {number(r, 'psnr') - bar(r):+.2f})"
        for r in rows
        if below(r)
    ]
    what = "below the better of bicubic and Lanczos3 by more than 0.05 dB"
    what += " (pixel art: nearest; inputs that are no area averages: Lanczos3 by 0.1)"
    return f"{len(found)} of {len(rows)} {what}" + (": " + ", ".join(found) if found else "")


def honesty(fits):
    """What holds of each field, whatever its truth."""
    unequal = [f"{r['name']} ({r['differing']})" for r in fits if r["differing"] not in ("", "0")]
    flat = [r for r in fits if number(r, "flat_pixels")]
    uneven = [f"{r['name']} ({r['flat_worst']})" for r in flat if int(r["flat_worst"]) > 1]
    checked = sum(r["differing"] != "" for r in fits)
    return [
        f"{len(unequal)} of {checked} fields are not their source at its own size (pixels that differ)"
        + (": " + ", ".join(unequal) if unequal else ""),
        f"{len(uneven)} of {len(flat)} with flats are uneven there by more than 1 of 255 (the largest)"
        + (": " + ", ".join(uneven) if uneven else ""),
    ]


def times(rows):
    """End to end: the fit and one picture at the scale, 4x where there is one."""
    cells = [["longer side up to", "n", "median s", "slowest s", "of"]]
    one = [r for r in rows if r["draw_s"] and r["scale"] == "4"] or [r for r in rows if r["draw_s"]]
    for low, high in zip((0, *SIDES), SIDES):
        group = [r for r in one if low < max(int(r["width"]), int(r["height"])) <= high]
        if group:
            seconds = [(number(r, "fit_s") or 0) + number(r, "draw_s") for r in group]
            slowest = max(range(len(group)), key=seconds.__getitem__)
            cells.append(
                [
                    str(high),
                    str(len(group)),
                    f"{statistics.median(seconds):.1f}",
                    f"{max(seconds):.1f}",
                    group[slowest]["name"],
                ]
            )
    return markdown(cells)


def told(rows):
    found = [r for r in rows if r["told"] and r["kind"] != "pixel"]
    if not found:
        return []
    lines = []
    for (how, scale), group in grouped(found, "filter", "scale").items():
        expected, real = [number(r, "told") for r in group], list(map(gain, group))
        silent = [r["name"] for r, e, g in zip(group, expected, real) if g < 0 and e >= WARNED]
        lines.append(
            f"told gain at {scale}x, {how}: rank correlation {rank_correlation(expected, real):.3f} of {len(group)}; "
            f"below Lanczos3 without a warning: {', '.join(silent) or 'none'}"
        )
    return lines


def ordered(rows):
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    return sorted(rows, key=lambda r: (r["filter"], kinds.index(r["kind"]), float(r["scale"]), r["name"], r["seed"]))


def tables(rows):
    rows = ordered(rows)
    redrawn, failed = [r for r in rows if r["psnr"]], [r for r in rows if r["failed"]]
    if not redrawn and not failed:
        return resamplers(rows)
    fits = [group[0] for group in grouped(redrawn, "kind", "name", "filter", "seed").values()]
    errors = [
        f"FAILED {len(group)} redraws of {name}: {why}"
        for (name, why), group in grouped(failed, "name", "failed").items()
    ]
    if not redrawn:
        return "\n\n".join(errors)
    return "\n\n".join([gains(redrawn), losers(redrawn), *honesty(fits), times(redrawn), *told(redrawn), *errors])
