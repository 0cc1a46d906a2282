"""Networks that Python packages ship, run by onnxruntime and by Veldt: network_peers.py VERB VELDT FOLDER.

ocr     a rendered page is read by rapidocr-onnxruntime with each of the two: the texts must be equal.
speech  speech that espeak-ng spoke is found by silero-vad's networks with each of the two: the segments must be equal.
"""

import pathlib
import subprocess
import sys
import wave

import numpy as np

VELDT, FOLDER = sys.argv[2], pathlib.Path(sys.argv[3])


def veldt_run(model, inputs):
    """What `veldt run` gives for these arrays, by the names of the outputs."""
    np.savez(FOLDER / "in.npz", **inputs)
    subprocess.run([VELDT, "run", str(model), "--input", str(FOLDER / "in.npz"), "-o", str(FOLDER / "out.npz"), "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return np.load(FOLDER / "out.npz")


def page():
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("RGB", (640, 260), "white")
    draw = ImageDraw.Draw(picture)
    lines = [("Neural networks of others", 34), ("are taught further in C++.", 28), ("Invoice 4711, total 98.50", 24), ("the quick brown fox jumps", 20)]
    for row, (text, size) in enumerate(lines):
        draw.text((24, 16 + 58 * row), text, fill=(20 + 30 * row, 20, 60), font=ImageFont.load_default(size=size))
    return np.asarray(picture)[:, :, ::-1].copy(), lines


def ocr():
    import rapidocr_onnxruntime.utils.infer_engine as engine
    from rapidocr_onnxruntime import RapidOCR

    picture, lines = page()
    texts = lambda: [row[1] for row in RapidOCR()(picture)[0]]
    theirs = texts()

    def call(self, values):
        names = [i.name for i in self.session.get_inputs()]
        out = veldt_run(self.session._model_path, {names[0]: values})
        return [out[o.name] for o in self.session.get_outputs()]

    engine.OrtInferSession.__call__ = call
    ours = texts()
    print("onnxruntime:", theirs, "\nveldt:      ", ours)
    assert len(theirs) == len(lines), "all lines are found"
    assert ours == theirs


def speech():
    import onnxruntime
    import silero_vad
    import torch

    with wave.open(str(FOLDER / "speech.wav")) as file:
        rate = file.getframerate()
        samples = np.frombuffer(file.readframes(file.getnframes()), dtype=np.int16).astype(np.float32) / 32768
    places = np.arange(0, len(samples) - 1, rate / 16000)
    samples = np.interp(places, np.arange(len(samples)), samples).astype(np.float32)
    pause = np.zeros(12000, np.float32)
    audio = torch.from_numpy(np.concatenate([pause, samples, pause, samples[: len(samples) // 2], pause]))

    class Network:
        """One of the package's files, with the context and the state that it carries from call to call."""

        def __init__(self, path, by_veldt):
            self.path, self.by_veldt = path, by_veldt
            self.session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
            self.takes_rate = any(i.name == "sr" for i in self.session.get_inputs())
            self.reset_states()

        def reset_states(self):
            self.state, self.context = np.zeros((2, 1, 128), np.float32), np.zeros((1, 64), np.float32)

        def __call__(self, chunk, rate):
            x = np.concatenate([self.context, chunk.numpy().reshape(1, -1)], axis=1)
            self.context = x[:, -64:]
            inputs = {"input": x, "state": self.state}
            if self.takes_rate:
                inputs["sr"] = np.array(rate, np.int64)
            if self.by_veldt:
                out = veldt_run(self.path, inputs)
                score, self.state = out["output"], out["stateN"]
            else:
                score, self.state = self.session.run(["output", "stateN"], inputs)
            return torch.from_numpy(np.asarray(score).copy())

    data = pathlib.Path(silero_vad.__file__).parent / "data"
    for name in ("silero_vad.onnx", "silero_vad_16k_op15.onnx", "silero_vad_op18_ifless.onnx"):
        segments = [silero_vad.get_speech_timestamps(audio, Network(data / name, by_veldt), sampling_rate=16000) for by_veldt in (False, True)]
        print(name, "onnxruntime:", segments[0], "veldt:", segments[1])
        assert segments[0], "there is speech"
        assert segments[0] == segments[1]


{"ocr": ocr, "speech": speech}[sys.argv[1]]()
