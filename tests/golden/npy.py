#!/usr/bin/env python3
"""What numpy.save and numpy.savez write: every dtype, byte order, layout and header version that Veldt reads or names.

usage: npy.py OUT.json      (needs numpy)

OUT.json maps a name to {"bytes": the file in hexadecimal}, with "dtype", "shape" and "values" (row by row) for what can
be read, and "refused": a word of the reason for what cannot. The names of archives end in .npz.
"""
import io
import json
import sys

import numpy as np
from numpy.lib import format as npy


def values_of(kind, shape):
    """Numbers that f2 holds exactly, of both signs where the kind has them."""
    i = np.arange(int(np.prod(shape)))
    if kind == "b":
        return (i % 3 == 0).reshape(shape)
    return {"f": i * 0.5 - 3, "i": i * 7 - 20, "u": i * 9}[kind].reshape(shape)


def saved(array, version=None):
    out = io.BytesIO()
    npy.write_array(out, array, version=version, allow_pickle=True)
    return out.getvalue()


def row(array, version=None):
    return {"bytes": saved(array, version).hex(), "dtype": array.dtype.str, "shape": list(array.shape),
            "values": [float(v) for v in array.ravel(order="C")]}


def main(path):
    rows = {}
    for dtype in ["<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "<i8", ">i8", "<i4", ">i4", "|i1", "<i2", ">i2", "|u1",
                  "<u2", "<u4", ">u4", "|b1"]:
        rows[dtype] = row(values_of(dtype[1], (2, 3)).astype(dtype))
    rows["fortran"] = row(np.asfortranarray(values_of("f", (2, 3, 4)).astype("<f4")))
    rows["fortran big-endian"] = row(np.asfortranarray(values_of("i", (2, 3, 4)).astype(">i8")))
    rows["fortran narrow"] = row(np.asfortranarray(values_of("i", (3, 2)).astype("<i2")))
    rows["version 2"] = row(values_of("f", (3,)).astype("<f4"), (2, 0))
    rows["version 3"] = row(values_of("f", (3,)).astype("<f4"), (3, 0))
    rows["unsigned 64"] = row(np.zeros(2, dtype="<u8"))
    rows["scalar"] = row(np.array(2.5, dtype="<f4"))
    rows["empty"] = row(np.zeros((0, 3), dtype="<f4"))
    rows["eight dimensions"] = row(values_of("f", (1, 2, 1, 1, 1, 3, 1, 1)).astype("<f4"))

    def refuse(name, array, word):
        rows[name] = {"bytes": saved(array).hex(), "refused": word}

    refuse("nine dimensions", np.zeros((1,) * 9, dtype="<f4"), "9 dimensions")
    refuse("complex", np.zeros(2, dtype="<c8"), "'<c8'")
    refuse("text", np.array(["a", "bc"]), "'<U2'")
    refuse("bytes", np.array([b"a", b"bc"]), "'|S2'")
    refuse("objects", np.array([{}, None], dtype=object), "'|O'")
    refuse("dates", np.array(["2020-01-01"], dtype="<M8[D]"), "'<M8[D]'")
    refuse("long double", np.zeros(2, dtype=np.longdouble), "'<f16'")
    refuse("structured", np.zeros(2, dtype=[("x", "<f4"), ("y", "<i4")]), "structured")

    members = {"weight": values_of("f", (2, 3)).astype("<f4"), "a/b.c": np.asfortranarray(values_of("i", (2, 3))),
               "mask": values_of("b", (40, 50)), "none": np.zeros((0, 2), dtype="<f8")}
    for name, save in [("stored.npz", np.savez), ("deflated.npz", np.savez_compressed)]:
        out = io.BytesIO()
        save(out, **members)
        rows[name] = {"bytes": out.getvalue().hex()}
    with open(path, "w") as f:
        json.dump(rows, f, indent=0)
        f.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
