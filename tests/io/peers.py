"""The other side of peers_test.cpp: NumPy, safetensors and PyTorch write files for Veldt, and read what Veldt wrote.

usage: peers.py make|check numpy|safetensors|torch|pt FOLDER      (a check that fails exits with 1)
"""
import json
import sys

SHAPE = (2, 3, 4)
COUNT = 24


def values(name):
    """The numbers that both sides expect of the array of this name, row by row. Every dtype holds them exactly."""
    if name == "bool":
        return [i % 3 == 0 for i in range(COUNT)]
    first = 0 if name.startswith("u") else -5
    return [i + first for i in range(COUNT)]


def expect(name, got, shape, dtype, wanted_dtype):
    if tuple(shape) != SHAPE or [float(v) for v in got] != [float(v) for v in values(name)] or dtype != wanted_dtype:
        sys.exit(f"{name}: got {dtype} {shape} {got}")


NUMPY = {"f16": "float16", "f32": "float32", "f64": "float64", "i64": "int64", "i32": "int32", "u8": "uint8",
         "bool": "bool"}


def numpy_make(folder):
    import numpy as np
    arrays = {name: np.array(values(name), dtype=dtype).reshape(SHAPE) for name, dtype in NUMPY.items()}
    arrays["columns"] = np.asfortranarray(np.array(values("columns"), dtype="float32").reshape(SHAPE))
    arrays["i16"] = np.array(values("i16"), dtype=">i2").reshape(SHAPE)
    for name, array in arrays.items():
        np.save(f"{folder}/{name}.npy", array)
    np.savez(f"{folder}/stored.npz", **arrays)
    np.savez_compressed(f"{folder}/deflated.npz", **arrays)


def numpy_check(folder):
    import numpy as np
    for archive in ["stored", "deflated"]:
        with np.load(f"{folder}/{archive}.npz") as arrays:
            assert sorted(arrays) == sorted(NUMPY), sorted(arrays)
            for name, dtype in NUMPY.items():
                for array in [arrays[name], np.load(f"{folder}/{name}.npy")]:
                    expect(name, array.ravel(), array.shape, array.dtype, np.dtype(dtype))


SAFETENSORS = {"f64": "F64", "f32": "F32", "bf16": "BF16", "f16": "F16", "i64": "I64", "i32": "I32", "u8": "U8",
               "bool": "BOOL"}
BYTES = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "i64": "<i8", "i32": "<i4", "u8": "u1", "bool": "?"}


def raw(name):
    """The bytes of an array, bf16 as the upper half of f32."""
    import numpy as np
    if name == "bf16":
        return (np.array(values(name), dtype="<f4").view("<u4") >> 16).astype("<u2").tobytes()
    return np.array(values(name), dtype=BYTES[name]).tobytes()


def safetensors_make(folder):
    import ctypes
    import safetensors
    names = {"bf16": "bfloat16", **NUMPY}
    data = {name: raw(name) for name in names}  # alive until the file is written
    if hasattr(safetensors, "TensorSpec"):  # newer packages take the address of the bytes
        address = {name: ctypes.cast(ctypes.c_char_p(b), ctypes.c_void_p).value for name, b in data.items()}
        tensors = {name: safetensors.TensorSpec(dtype=dtype, shape=SHAPE, data_ptr=address[name],
                                                data_len=len(data[name])) for name, dtype in names.items()}
    else:
        tensors = {name: {"dtype": dtype, "shape": SHAPE, "data": data[name]} for name, dtype in names.items()}
    safetensors.serialize_file(tensors, f"{folder}/all.safetensors", {"note": "made by the package"})


def safetensors_check(folder):
    from safetensors import deserialize
    with open(f"{folder}/all.safetensors", "rb") as f:
        data = f.read()
    found = dict(deserialize(data))
    assert sorted(found) == sorted(SAFETENSORS), sorted(found)
    for name, tensor in found.items():
        assert tensor["dtype"] == SAFETENSORS[name] and tuple(tensor["shape"]) == SHAPE, (name, tensor)
        assert bytes(tensor["data"]) == raw(name), name
    header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
    assert header["__metadata__"]["note"] == "made by Veldt", header


TORCH = {"bf16": "bfloat16", **NUMPY}


def torch_make(folder):
    import torch
    from safetensors.torch import save_file
    save_file({name: torch.tensor(values(name)).to(getattr(torch, dtype)).reshape(SHAPE)
               for name, dtype in TORCH.items()}, f"{folder}/all.safetensors", {"note": "made by the package"})


def torch_check(folder):
    import torch
    from safetensors.torch import load_file
    found = load_file(f"{folder}/all.safetensors")
    assert sorted(found) == sorted(TORCH), sorted(found)
    for name, tensor in found.items():
        expect(name, tensor.flatten().tolist(), tensor.shape, tensor.dtype, getattr(torch, TORCH[name]))


def views():
    """Tensors that share one storage of 24 numbers, in every way that strides can."""
    import torch
    whole = torch.arange(24, dtype=torch.float32)
    return {"whole": whole.reshape(2, 3, 4), "turned": whole.reshape(4, 6).t(), "part": whole[5:17].reshape(3, 4)[:, 1:3],
            "stepped": whole[::5], "nothing": whole[3:3], "expanded": whole[7:8].expand(2, 3), "tied": whole.reshape(2, 3, 4)}


TORCH_FILES = {"zip": {}, "zip_5": {"pickle_protocol": 5}, "legacy": {"_use_new_zipfile_serialization": False},
               "legacy_4": {"_use_new_zipfile_serialization": False, "pickle_protocol": 4}}


def pt_make(folder):
    import torch
    state = {name: torch.tensor(values(name)).to(getattr(torch, dtype)).reshape(SHAPE) for name, dtype in TORCH.items()}
    network = torch.nn.Linear(2, 3)
    optimizer = torch.optim.AdamW(network.parameters())
    network(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    for name, how in TORCH_FILES.items():
        torch.save({"epoch": 1, "model": state, "optimizer": optimizer.state_dict(), "rng": torch.get_rng_state()},
                   f"{folder}/{name}.pt", **how)
        torch.save(views(), f"{folder}/views_{name}.pt", **how)
        # Each as PyTorch sees it, contiguous, for the other side to compare with.
        torch.save({key: value.clone() for key, value in views().items()}, f"{folder}/plain_{name}.pt", **how)


def pt_check(folder):
    import torch
    found = torch.load(f"{folder}/all.pt", weights_only=True)
    assert list(found) == list(CHECKED), list(found)
    for name, tensor in found.items():
        expect(name, tensor.flatten().tolist(), tensor.shape, tensor.dtype, getattr(torch, TORCH[name]))
    for mmap in [False, True]:  # mapped, as large files are, the alignment counts
        found = torch.load(f"{folder}/views.pt", weights_only=True, mmap=mmap)
        for name, tensor in views().items():
            assert torch.equal(found[name], tensor), name


CHECKED = ["f64", "f32", "bf16", "f16", "i64", "i32", "u8", "bool"]  # in the order that Veldt wrote


if __name__ == "__main__":
    globals()[f"{sys.argv[2]}_{sys.argv[1]}"](sys.argv[3])
