"""Writes the operator cases of the installed onnx package as folders: python3 write_cases.py FOLDER.

tests/onnx/node_test.cpp runs them where VELDT_ONNX_CASES names the folder.
"""

import pathlib
import sys
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases


def to_proto(value, info):
    """A TensorProto, SequenceProto or OptionalProto of the type that the graph's input or output has."""
    kind = info.type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.from_list(value)
    if kind == "optional_type":
        return numpy_helper.from_optional(value)
    if isinstance(value, onnx.TensorProto):
        return value
    return numpy_helper.from_array(np.asarray(value))


def main():
    root = pathlib.Path(sys.argv[1])
    warnings.simplefilter("ignore")
    for case in collect_testcases(None):
        if case.model is None:
            continue
        folder = root / case.name
        folder.mkdir(parents=True, exist_ok=True)
        onnx.save_model(case.model, str(folder / "model.onnx"))
        for number, (inputs, outputs) in enumerate(case.data_sets):
            data = folder / f"test_data_set_{number}"
            data.mkdir(exist_ok=True)
            for word, values, infos in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
                for i, (value, info) in enumerate(zip(values, infos)):
                    (data / f"{word}_{i}.pb").write_bytes(to_proto(value, info).SerializeToString())


main()
