"""Writes tests/golden/sounds/: a quarter of a second of tones in the formats that Veldt reads, through libsndfile by ctypes.

Sample i of channel c is round(8000 sin(0.05 (c + 1) i)) / 32768, which every format but Ogg and 8 bits holds exactly.

usage: python3 tests/golden/sounds.py
"""
import array
import ctypes
import ctypes.util
import math
import pathlib

RATE, FRAMES = 8000, 2000
FORMATS = {  # name: major format | subtype, channels
    "mono_16.wav": (0x010000 | 0x0002, 1),
    "stereo_24.wav": (0x010000 | 0x0003, 2),
    "stereo_8.wav": (0x010000 | 0x0005, 2),
    "mono_float.wav": (0x010000 | 0x0006, 1),
    "mono_double.wav": (0x010000 | 0x0007, 1),
    "stereo.flac": (0x170000 | 0x0002, 2),
    "stereo.ogg": (0x200000 | 0x0060, 2),
    "mono.aiff": (0x020000 | 0x0002, 1),
}


class Info(ctypes.Structure):
    _fields_ = [("frames", ctypes.c_int64), ("samplerate", ctypes.c_int), ("channels", ctypes.c_int),
                ("format", ctypes.c_int), ("sections", ctypes.c_int), ("seekable", ctypes.c_int)]


def main():
    library = ctypes.CDLL(ctypes.util.find_library("sndfile"))
    library.sf_open.restype = ctypes.c_void_p
    library.sf_open.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(Info)]
    library.sf_writef_float.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    library.sf_close.argtypes = [ctypes.c_void_p]
    library.sf_command.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
    folder = pathlib.Path(__file__).parent / "sounds"
    folder.mkdir(exist_ok=True)
    for name, (kind, channels) in FORMATS.items():
        samples = array.array("f", [round(8000 * math.sin(0.05 * (c + 1) * i)) / 32768
                                    for i in range(FRAMES) for c in range(channels)])
        info = Info(0, RATE, channels, kind, 0, 0)
        handle = library.sf_open(str(folder / name).encode(), 0x20, ctypes.byref(info))
        assert handle, name
        library.sf_command(handle, 0x1050, None, 0)  # SFC_SET_ADD_PEAK_CHUNK: none, it holds the time of day
        assert library.sf_writef_float(handle, samples.buffer_info()[0], FRAMES) == FRAMES
        library.sf_close(handle)


if __name__ == "__main__":
    main()
