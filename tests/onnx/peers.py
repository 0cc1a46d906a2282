"""Holds exported files against the onnx package and onnxruntime.

peers.py FOLDER: each NAME.onnx is checked (onnx.checker, strict shape inference), and run on the inputs of NAME.npz
("x<batch>_<i>"), whose outputs ("y<batch>_<i>") it must give to 1e-4 of the larger of 1 and the largest number.
Prints what fails; exits with 1 if anything does.
"""

import pathlib
import re
import sys

import numpy
import onnx
import onnxruntime


def check(path):
    onnx.checker.check_model(str(path), full_check=True)  # shapes too, strictly
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    tensors = numpy.load(path.with_suffix(".npz"))
    for batch in sorted({found[1] for name in tensors.files if (found := re.match(r"x(\d+)_", name))}):
        inputs = {given.name: tensors[f"x{batch}_{i}"] for i, given in enumerate(session.get_inputs())}
        for i, found in enumerate(session.run(None, inputs)):
            wanted = tensors[f"y{batch}_{i}"]
            if found.shape != wanted.shape or found.dtype != wanted.dtype:
                raise ValueError(f"batch {batch}: {found.dtype} {found.shape}, not {wanted.dtype} {wanted.shape}")
            if not wanted.size:
                continue
            wanted = wanted.astype("f8")
            largest = max(1, numpy.abs(wanted[numpy.isfinite(wanted)]).max(initial=1))
            numpy.testing.assert_allclose(found.astype("f8"), wanted, rtol=0, atol=1e-4 * largest)


failed = False
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
onnxruntime.set_default_logger_severity(3)
paths = sorted(pathlib.Path(sys.argv[1]).glob("*.onnx"))
for path in paths:
    try:
        check(path)
    except Exception as error:  # whatever the packages raise: all files are looked at
        print(f"{path.stem}: {str(error)[:500]}", file=sys.stderr)
        failed = True
sys.exit(1 if failed or not paths else 0)
