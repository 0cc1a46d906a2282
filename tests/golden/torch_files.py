#!/usr/bin/env python3
"""Small files of each kind that torch.save has written, and what is in them as PyTorch sees it.

usage: torch_files.py FOLDER      (needs torch and numpy)

FOLDER gets the files, and expected.json: a file's name to {"tensors": {name: {"dtype": PyTorch's name of what the file
has, "shape": .., "values": row by row, infinities and NaN as text}}, "taken": the key of the state}, or to {"refused": a
word of the reason}. What names a file in other ways than torch.save does now is noted where it is made.
"""
import argparse
import collections
import io
import json
import os
import pathlib
import pickle
import sys
import types
import zipfile

import numpy as np
import torch

EXPECTED = {}


def number(value):
    value = float(value)
    return value if np.isfinite(value) else str(value)


def described(tensor):
    tensor = torch.as_tensor(tensor).detach()
    wide = tensor.to(torch.float64) if tensor.dtype.is_floating_point or tensor.dtype == torch.bool else tensor
    return {"dtype": str(tensor.dtype).split(".")[1], "shape": list(tensor.shape),
            "values": [number(v) for v in wide.flatten().tolist()]}


def expect(name, tensors, taken=""):
    EXPECTED[name] = {"tensors": {key: described(value) for key, value in tensors.items()}, "taken": taken}


def state():
    """A state of every kind of view, and of every dtype that both have."""
    whole = torch.arange(24, dtype=torch.float32) * 0.5 - 3
    tied = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    return collections.OrderedDict([
        ("conv.weight", torch.nn.Parameter(torch.arange(16, dtype=torch.float32).reshape(2, 2, 2, 2) - 7)),
        ("f64", torch.tensor([1e300, -0.1], dtype=torch.float64)),
        ("f16", torch.tensor([1.5, -2, 65504], dtype=torch.float16)),
        ("bf16", torch.tensor([[1.0, -2], [3, 1e30]], dtype=torch.bfloat16)),
        ("i64", torch.tensor([-(2**53), 5, 2**53])),
        ("i32", torch.tensor([[-7], [8]], dtype=torch.int32)),
        ("u8", torch.tensor([0, 200, 255], dtype=torch.uint8)),
        ("bool", torch.tensor([[True, False, True]])),
        ("scalar", torch.tensor(42.0)),
        ("num_batches_tracked", torch.tensor(7)),
        ("nothing", torch.zeros(0, 3)),
        ("nothing_f16", torch.zeros(2, 0, dtype=torch.float16)),
        ("turned", whole.reshape(4, 6).t()),
        ("part", whole[5:17].reshape(3, 4)[:, 1:3]),
        ("stepped", whole[1::3]),
        ("expanded", torch.tensor([[1.0], [2.0]]).expand(2, 3)),
        ("tied.a", tied), ("tied.b", tied)])


def save(folder, name, value, **how):
    torch.save(value, os.path.join(folder, name), **how)


class Python2Pickler(pickle._Pickler):
    """Writes as Python 2 did: strings of bytes, OrderedDicts of lists of pairs, numbers of the memo from 1."""

    def save_str(self, text):
        data = text.encode("latin1")
        self.write(pickle.SHORT_BINSTRING + bytes([len(data)]) + data)
        self.memoize(text)

    def save_ordered(self, value):
        self.save_reduce(collections.OrderedDict, ([[k, v] for k, v in value.items()],), obj=value)

    def put(self, index):
        return super().put(index + 1)

    def get(self, index):
        return super().get(index + 1)

    dispatch = dict(pickle._Pickler.dispatch)
    dispatch[str] = save_str
    dispatch[collections.OrderedDict] = save_ordered


def python2_module():
    module = types.ModuleType("python2")
    module.__dict__.update(pickle.__dict__)
    module.Pickler = Python2Pickler
    module.dump = lambda value, file, protocol: Python2Pickler(file, protocol).dump(value)
    return module


def rewritten(folder, old, new, change, method=zipfile.ZIP_STORED):
    """The archive with each member's bytes changed."""
    with zipfile.ZipFile(os.path.join(folder, old)) as source, \
            zipfile.ZipFile(os.path.join(folder, new), "w", method) as target:
        for info in source.infolist():
            data = change(info.filename, source.read(info))
            target.writestr(zipfile.ZipInfo(info.filename), data, method)


def formats(folder):
    for protocol in range(2, 6):
        save(folder, f"zip_{protocol}.pt", state(), pickle_protocol=protocol)
        expect(f"zip_{protocol}.pt", state())
    for protocol in range(1, 6):  # what it writes in 0 it cannot read itself
        save(folder, f"legacy_{protocol}.pt", state(), pickle_protocol=protocol, _use_new_zipfile_serialization=False)
        expect(f"legacy_{protocol}.pt", state())
    save(folder, "python2.pt", state(), pickle_module=python2_module(), _use_new_zipfile_serialization=False)
    expect("python2.pt", state())
    os.rename(os.path.join(folder, "zip_2.pt"), os.path.join(folder, "renamed.bin"))
    EXPECTED["renamed.bin"] = EXPECTED["zip_2.pt"]  # the folder in it is still named zip_2
    save(folder, "zip_2.pt", state(), pickle_protocol=2)


def archives(folder):
    floats = {"a": torch.arange(5, dtype=torch.float32), "b": torch.tensor([1, -2], dtype=torch.int16)}
    save(folder, "floats.pt", floats)
    expect("floats.pt", floats)
    torch.serialization.set_crc32_options(False)
    save(folder, "no_crc.pt", floats)
    torch.serialization.set_crc32_options(True)
    expect("no_crc.pt", floats)
    rewritten(folder, "floats.pt", "deflated.pt", lambda name, data: data, zipfile.ZIP_DEFLATED)
    expect("deflated.pt", floats)
    sizes = {"floats/data/0": 4, "floats/data/1": 2}

    def turned(name, data):  # as a machine of the other byte order would have written it
        if name.endswith("/byteorder"):
            return b"big"
        size = sizes.get(name)
        return data if size is None else np.frombuffer(data, f"<u{size}").astype(f">u{size}").tobytes()
    rewritten(folder, "floats.pt", "big_endian.pt", turned)
    expect("big_endian.pt", floats)
    without = [("floats.pt", "before_2_1.pt", "/byteorder")]  # older ones have no such member
    for old, new, left_out in without:
        with zipfile.ZipFile(os.path.join(folder, old)) as source, \
                zipfile.ZipFile(os.path.join(folder, new), "w") as target:
            for info in source.infolist():
                if not info.filename.endswith(left_out):
                    target.writestr(zipfile.ZipInfo(info.filename), source.read(info))
    expect("before_2_1.pt", floats)


def contents(folder):
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    for i, (_, parameter) in enumerate(sorted(net.named_parameters())):
        torch.nn.init.constant_(parameter, i + 0.25)
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(4, 2)).sum().backward()
    optimizer.step()
    for i, (_, parameter) in enumerate(sorted(net.named_parameters())):
        torch.nn.init.constant_(parameter, i + 0.5)
    checkpoint = {"epoch": 3, "arch": "tiny", "state_dict": net.state_dict(), "optimizer": optimizer.state_dict(),
                  "args": argparse.Namespace(lr=0.1, path=pathlib.PurePosixPath("/tmp/x")), "best": np.float64(0.5),
                  "losses": [0.5, 0.25], "classes": {"cat", "dog"}, "shape": torch.Size([2, 3]), "dtype": torch.float32,
                  "device": torch.device("cpu"), "count": collections.Counter("aab"), "big": 10**30,
                  "by_name": collections.defaultdict(list, {"a": [1]}), "none": None}
    save(folder, "checkpoint.pt", checkpoint)
    expect("checkpoint.pt", net.state_dict(), "state_dict")
    save(folder, "checkpoint_legacy.pt", checkpoint, _use_new_zipfile_serialization=False)
    expect("checkpoint_legacy.pt", net.state_dict(), "state_dict")
    nested = {"encoder": {"layers": [{"w": torch.ones(2)}, {"w": torch.zeros(3)}], 5: torch.tensor([5.0])},
              "decoder": (torch.tensor([1]), "no tensor")}
    save(folder, "nested.pt", nested)
    expect("nested.pt", {"encoder.layers.0.w": torch.ones(2), "encoder.layers.1.w": torch.zeros(3),
                         "encoder.5": torch.tensor([5.0]), "decoder.0": torch.tensor([1])})
    tagged = {"parameter": torch.nn.Parameter(torch.ones(2)), "tensor": torch.zeros(3), "buffer": torch.nn.Buffer(torch.ones(1))}
    for tensor in tagged.values():
        tensor.tag = "an attribute"  # which torch.save writes in other ways
    save(folder, "tagged.pt", tagged)
    expect("tagged.pt", tagged)
    save(folder, "tensor.pt", torch.tensor([[1.0, 2.0]]))
    expect("tensor.pt", {"tensor": torch.tensor([[1.0, 2.0]])})
    narrow = {"int8": torch.tensor([-128, 127], dtype=torch.int8), "int16": torch.tensor([-300, 300], dtype=torch.int16),
              "uint16": torch.tensor([0, 65535], dtype=torch.uint16),
              "uint32": torch.tensor([0, 2**32 - 1], dtype=torch.uint32),
              "uint64": torch.tensor([0, 2**53], dtype=torch.uint64)}
    every = torch.arange(256, dtype=torch.int32).to(torch.uint8)
    for name in ["float8_e4m3fn", "float8_e5m2"]:
        narrow[name] = every.view(getattr(torch, name))
    save(folder, "narrow.pt", narrow)
    expect("narrow.pt", narrow)
    arrays = {"f4": np.arange(6, dtype="<f4").reshape(2, 3), "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
              "big": np.arange(3, dtype=">i4"), "u2": np.array([65535], dtype="<u2"), "mask": np.array([True, False]),
              "none": np.zeros((0, 2), dtype="<f4"), "scalar": np.array(2.5)}
    native = {name: a.astype(a.dtype.newbyteorder("=")) for name, a in arrays.items()}
    for protocol in [2, 5]:
        save(folder, f"arrays_{protocol}.pt", arrays, pickle_protocol=protocol)
        expect(f"arrays_{protocol}.pt", native)


def refused(folder):
    def refuse(name, value, word, **how):
        save(folder, name, value, **how)
        EXPECTED[name] = {"refused": word}
    refuse("module.pt", torch.nn.Linear(1, 1), "torch.nn.modules.linear.Linear")
    refuse("quantised.pt", {"a": torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)}, "quantised")
    refuse("negative.pt", {"a": torch.imag(torch.ones(2, dtype=torch.complex64).conj())}, "negate")
    refuse("meta.pt", {"a": torch.ones(2, device="meta")}, "without values")
    refuse("function.pt", {"a": torch.ones(1), "run": os.system}, "posix.system")
    refuse("unknown.pt", {"a": torch.ones(1), "x": argparse.ArgumentParser}, "argparse.ArgumentParser")
    refuse("sparse.pt", {"a": torch.eye(2).to_sparse()}, "sparse")
    refuse("complex.pt", {"a": torch.ones(1, dtype=torch.complex64)}, "ComplexFloatStorage")
    refuse("large.pt", {"a": torch.tensor([2**64 - 1], dtype=torch.uint64)}, "beyond 2^63 - 1")
    refuse("epochs.pt", {"epoch": 3}, "no tensors")
    program = torch.jit.script(torch.nn.Linear(1, 1))
    torch.jit.save(program, os.path.join(folder, "script.pt"))
    # Its programs take more room than the repository should give them: what tells it from tensors is enough.
    rewritten(folder, "script.pt", "torchscript.pt", lambda name, data: data[:8], zipfile.ZIP_DEFLATED)
    os.remove(os.path.join(folder, "script.pt"))
    EXPECTED["torchscript.pt"] = {"refused": "TorchScript"}


def main(folder):
    os.makedirs(folder, exist_ok=True)
    for part in [formats, archives, contents, refused]:
        part(folder)
    with open(os.path.join(folder, "expected.json"), "w") as f:
        json.dump(EXPECTED, f, indent=0)
        f.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
