"""Runs quantised networks in onnxruntime.

qdq.py FOLDER: each NAME.onnx is checked by the onnx package and run on "x" of NAME.npz. Its classes have to be those of
"y", and its numbers too, to a fiftieth of the largest: a number at a half may become the byte beside it. Prints what
fails; exits with 1 if anything does.
"""

import pathlib
import sys

import numpy
import onnx
import onnxruntime

failed = False
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
onnxruntime.set_default_logger_severity(3)
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.onnx")):
    onnx.checker.check_model(str(path), full_check=True)
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    tensors = numpy.load(path.with_suffix(".npz"))
    found, = session.run(None, {session.get_inputs()[0].name: tensors["x"]})
    wanted = tensors["y"]
    off = numpy.abs(found - wanted).max() / numpy.abs(wanted).max()
    same = (found.argmax(1) == wanted.argmax(1)).mean()
    if off > 0.02 or same < 0.98:
        print(f"{path.name}: off by {off:.4f} of the largest number, {same:.1%} of the classes are the same")
        failed = True
sys.exit(failed)
