"""Exchanges tensors with the library that argv names through NumPy's side of DLPack: the same addresses both ways.

Usage: dlpack_peer.py LIBRARY    (tests/support/dlpack_peer.cpp)
"""

import ctypes
import gc
import sys

import numpy as np

library = ctypes.CDLL(sys.argv[1])
for name, result, arguments in [
        ("peer_give", ctypes.c_void_p, []), ("peer_address", ctypes.c_void_p, []), ("peer_is_shared", ctypes.c_int, []),
        ("peer_at", ctypes.c_double, [ctypes.c_int, ctypes.c_int]), ("peer_take", ctypes.c_void_p, [ctypes.c_void_p]),
        ("peer_sum", ctypes.c_double, []), ("peer_let_go", None, [])]:
    getattr(library, name).restype = result
    getattr(library, name).argtypes = arguments

api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
UNUSED, USED = b"dltensor", b"used_dltensor"  # capsules keep the pointers


class Ours:
    def __dlpack__(self, **_):
        return api.PyCapsule_New(library.peer_give(), UNUSED, None)

    def __dlpack_device__(self):
        return (1, 0)


def from_veldt():
    array = np.from_dlpack(Ours())
    assert array.shape == (4, 3) and array.strides == (4, 16) and array.dtype == np.float32, array
    assert array.ctypes.data == library.peer_address()
    assert (array == np.arange(12).reshape(3, 4).T).all(), array
    assert library.peer_is_shared() == 1
    if array.flags.writeable:  # of NumPy 2
        array[3, 2] = 50
        assert library.peer_at(3, 2) == 50
    del array
    gc.collect()
    assert library.peer_is_shared() == 0  # NumPy has called the deleter


def to_veldt(dtype, strides):
    array = np.arange(24).reshape(4, 6).astype(dtype)[strides]
    before, expected = sys.getrefcount(array), 2 * array.astype(np.float64).sum()
    capsule = array.__dlpack__()
    address = library.peer_take(api.PyCapsule_GetPointer(capsule, UNUSED))
    api.PyCapsule_SetName(capsule, USED)
    del capsule
    assert address == array.ctypes.data
    assert library.peer_sum() == expected == array.astype(np.float64).sum()
    assert sys.getrefcount(array) > before  # it is kept
    library.peer_let_go()
    gc.collect()
    assert sys.getrefcount(array) == before


from_veldt()
for dtype in (np.float32, np.float64, np.float16, np.int64, np.int32, np.uint8):
    to_veldt(dtype, np.s_[:])
    to_veldt(dtype, np.s_[1:, ::2])
    to_veldt(dtype, np.s_[2])
