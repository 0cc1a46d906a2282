"""What bench/redraw/sounds.py computes: WAV files, band-limited resampling, signal-to-noise ratios."""

import math
import struct

import numpy as np

MOST_DB = 160.0  # of equal sounds, so that means stay finite
BETA = 12.0  # of the Kaiser windows below: what they let through beyond the band is 118 dB lower
REACH = 128  # frames to either side of the resampler


def read_wav(path):
    """[frames, channels] in float64, full scale 1, and the rate: 8 and 16 bits and 32-bit floats."""
    data = path.read_bytes()
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise ValueError(f"{path} is no WAV")
    at, form = 12, None
    while at + 8 <= len(data):
        name, size = data[at : at + 4], struct.unpack_from("<I", data, at + 4)[0]
        if name == b"fmt ":
            form = struct.unpack_from("<HHIIHH", data, at + 8)
        if name == b"data":
            code, channels, rate, bits = form[0], form[1], form[2], form[5]
            body = data[at + 8 : at + 8 + size]
            if code == 0xFFFE:  # extensible: the code is the first word of the format's identity
                code = 3 if bits == 32 else 1
            if (code, bits) == (1, 8):
                values = (np.frombuffer(body, np.uint8).astype(float) - 128) / 128
            elif (code, bits) == (1, 16):
                values = np.frombuffer(body, "<i2").astype(float) / 32768
            elif (code, bits) == (3, 32):
                values = np.frombuffer(body, "<f4").astype(float)
            else:
                raise ValueError(f"{path}: format {code} of {bits} bits")
            return values.reshape(-1, channels), rate
        at += 8 + size + size % 2
    raise ValueError(f"{path} has no samples")


def steps(sound, bits):
    """The sound in steps of 8 or 16 bits, as integers: rounded, and cut at full scale."""
    full = 1 << (bits - 1)
    return np.clip(np.floor(sound * full + 0.5), -full, full - 1).astype(int)


def write_wav(path, sound, rate, bits):
    values, channels, size = steps(sound, bits), sound.shape[1], bits // 8
    body = (values + 128).astype(np.uint8).tobytes() if bits == 8 else values.astype("<i2").tobytes()
    form = struct.pack("<HHIIHH", 1, channels, rate, rate * channels * size, channels * size, bits)
    body += b"\0" * (len(body) % 2)
    head = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", values.size * size)
    path.write_bytes(b"RIFF" + struct.pack("<I", len(head) + len(body)) + head + body)


def convolved(sound, kernel):
    """The kernel's middle over each frame; nothing lies beyond the ends."""
    size = 1 << (len(sound) + len(kernel)).bit_length()
    spectrum = np.fft.rfft(sound, size, axis=0) * np.fft.rfft(kernel, size)[:, None]
    return np.fft.irfft(spectrum, size, axis=0)[len(kernel) // 2 :][: len(sound)]


def kaiser_sinc(cutoff, reach):
    """A low-pass at `cutoff` of the rate (0.5: all of it), `reach` frames to either side."""
    at = np.arange(-reach, reach + 1)
    kernel = 2 * cutoff * np.sinc(2 * cutoff * at) * np.kaiser(2 * reach + 1, BETA)
    return kernel / kernel.sum()


def low_passed(sound, factor):
    """What can be known when every factor-th frame is kept: flat to 0.9 of their Nyquist, gone from 1.0 on."""
    # Kaiser 1974: a transition of 0.05 / factor of the rate.
    width = 0.1 * 0.5 / factor
    reach = math.ceil((118 - 8) / (2.285 * 2 * math.pi * width) / 2)
    return convolved(sound, kaiser_sinc(0.95 * 0.5 / factor, reach))


def by_sinc(small, factor):
    """The small sound at factor times its rate through a windowed sinc (polyphase), silent beyond its ends."""
    spread = np.zeros((len(small) * factor, small.shape[1]))
    spread[::factor] = small
    at = np.arange(-REACH * factor, REACH * factor + 1) / factor
    return convolved(spread, np.sinc(at) * np.kaiser(len(at), BETA))


def by_lines(small, factor):
    """Straight lines between the frames; after the last one it goes on as it is."""
    at = np.arange(len(small) * factor) / factor
    return np.stack([np.interp(at, np.arange(len(small)), channel) for channel in small.T], axis=1)


def decibels(power, error):
    return MOST_DB if error <= power * 10 ** (-MOST_DB / 10) else 10 * math.log10(power / error)


def snr(truth, drawn):
    return decibels(np.mean(truth**2), np.mean((drawn - truth) ** 2))


def snr_in_band(truth, drawn, factor):
    """As snr(), of the frequencies up to the Nyquist of every factor-th frame."""
    n = len(truth)
    last = n // 2 // factor

    def power(values):
        bins = np.abs(np.fft.rfft(values, axis=0)) ** 2
        bins[1:] *= 2
        return bins[: last + 1].sum()

    return decibels(power(truth), power(drawn - truth))
