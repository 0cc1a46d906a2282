"""Reads what event_file_test.cpp has written, by TensorBoard's own reader; exits with 1 if anything differs."""
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

events = EventAccumulator(sys.argv[1], size_guidance={"tensors": 0, "scalars": 0, "histograms": 0, "images": 0})
events.Reload()
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)


loss = [(e.step, e.value) for e in events.Scalars("loss")]
check(len(loss) == 6 and loss[:5] == [(i, __import__("numpy").float32(1 / (1 + i))) for i in range(5)]
      and loss[5] == (6, 0.25), f"scalars: {loss}")
h = events.Histograms("weights")[0].histogram_value
check((h.min, h.max, h.num, h.sum, h.sum_squares) == (-1, 3, 5, 2.5, 10.25), f"moments: {h}")
check(sum(h.bucket) == 5 and len(h.bucket) == len(h.bucket_limit) == 64 and h.bucket_limit[-1] == 3, f"buckets: {h}")
below = sum(n for n, limit in zip(h.bucket, h.bucket_limit) if limit <= 0.49)
check(below == 3, f"three values are below a half: {below}")
check(sum(events.Histograms("constant")[0].histogram_value.bucket) == 3, "a histogram of equal values")
image = events.Images("picture")[0]
check((image.width, image.height) == (3, 2) and image.encoded_image_string.startswith(b"\x89PNG"), "picture")
text = events.Tensors("sample")[0].tensor_proto.string_val
check(list(text) == [b"to be, or not to be"], f"text: {text}")
check("sample" in events.PluginTagToContent("text"), "the text is the text plugin's")
print(failures)
sys.exit(1 if failures else 0)
