#!/usr/bin/env python3
"""Networks from ONNX files in Veldt, onnxruntime and PyTorch (eager), in turn: milliseconds a call, and memory.

usage: networks.py BENCH_NETWORKS [--rounds N] [--threads N] [--seconds S] [--cases a,b] [--keep FOLDER] [--processor]

BENCH_NETWORKS is the path of bench_networks; torch, torchvision, transformers, onnx and onnxruntime are those of the
interpreter that runs this. It makes the networks with random weights and exports them, to FOLDER if one is given. Each
program is a process of its own for each case, alive and warm while the others run. The median call of each sample
counts; a ratio is the median of the rounds' ratios. Memory is the most that a process has held (VmHWM), the
interpreter and its packages included. --processor measures processor time, which other jobs disturb less, on one
thread.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from fair import TUNED, peak_memory

CASES = {
    "resnet18_1": ("resnet18", 1), "resnet18_16": ("resnet18", 16),
    "mobilenet_v2_1": ("mobilenet_v2", 1), "mobilenet_v2_16": ("mobilenet_v2", 16),
    "minilm_1": ("minilm", 1),
}
SETTLE = 0.05  # seconds until the threads of the last sample no longer spin


def made(network):
    """A network in eval mode, and inputs for a batch."""
    import torch

    torch.manual_seed(0)
    if network != "minilm":
        import torchvision

        model = getattr(torchvision.models, network)(weights=None).eval()
        return model, lambda n: (torch.randn(n, 3, 224, 224),)
    from transformers import BertConfig, BertModel

    # The shape of all-MiniLM-L6-v2.
    config = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = BertModel(config).eval()

        def forward(self, ids, mask):
            return self.bert(input_ids=ids, attention_mask=mask).last_hidden_state

    def inputs(n):
        return torch.randint(0, 30000, (n, 128)), torch.ones(n, 128, dtype=torch.long)

    return Encoder().eval(), inputs


def export(network, path):
    import warnings

    import torch

    warnings.filterwarnings("ignore")
    model, inputs = made(network)
    names = ["ids", "mask"] if network == "minilm" else ["x"]
    if network == "minilm":
        model.bert.set_attn_implementation("eager")
    torch.onnx.export(model, inputs(1), path, input_names=names, output_names=["y"], dynamo=False, opset_version=17,
                      dynamic_axes={name: {0: "n"} for name in [*names, "y"]})


def caller(side, network, batch, threads, path):
    """Calls the network once."""
    if side == "torch":
        import torch

        torch.set_num_threads(threads)
        model, inputs = made(network)
        x = inputs(batch)

        def call():
            with torch.inference_mode():
                model(*x)

        return call
    import numpy
    import onnxruntime

    onnxruntime.set_default_logger_severity(3)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    rng = numpy.random.default_rng(0)
    feed = {}
    for value in session.get_inputs():
        shape = [size if isinstance(size, int) else batch for size in value.shape]
        if value.type == "tensor(float)":
            feed[value.name] = rng.standard_normal(shape).astype(numpy.float32)
        elif value.name == "mask":
            feed[value.name] = numpy.ones(shape, numpy.int64)
        else:
            feed[value.name] = rng.integers(0, 30000, shape)
    return lambda: session.run(None, feed)


def serve(side, network, batch, threads, path):
    call = caller(side, network, batch, threads, path)
    for line in sys.stdin:
        times, used, start = [], [], time.perf_counter()
        while not times or time.perf_counter() - start < float(line):
            begin, before = time.perf_counter(), time.process_time()
            call()
            used.append(1e3 * (time.process_time() - before))
            times.append(1e3 * (time.perf_counter() - begin))
        print(json.dumps({"ms": times, "processor": used, "mb": peak_memory()}), flush=True)


class Program:
    def __init__(self, name, what, command, environment={}):
        self.name, self.what, self.mb = name, what, 0
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
            env={**os.environ, **environment},
        )

    def sample(self, seconds):
        time.sleep(SETTLE)
        self.process.stdin.write(f"{seconds}\n")
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"networks.py: error: {self.name} ended\n  fix: read its message above")
        answer = json.loads(line)
        self.mb = answer["mb"]
        return statistics.median(answer[self.what])

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def run(case, o, folder):
    network, batch = CASES[case]
    path = os.path.join(folder, network + ".onnx")
    own = [sys.executable, __file__, o.program, "--threads", str(o.threads), "--cases", case, "--keep", folder]
    if not os.path.exists(path):
        subprocess.run([*own, "--serve", "export"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    what = "processor" if o.processor else "ms"
    programs = [
        Program("Veldt", what, [o.program, str(o.threads), path, str(batch)]),
        Program("onnxruntime", what, [*own, "--serve", "onnxruntime"]),
        Program("PyTorch", what, [*own, "--serve", "torch"], TUNED),
    ]
    for program in programs:
        program.sample(o.seconds)
    rounds = [[program.sample(o.seconds) for program in programs] for _ in range(o.rounds)]
    text = f"{case:16}"
    for i, program in enumerate(programs):
        times = [r[i] for r in rounds]
        text += f"  {program.name} {statistics.median(times):.2f} ({min(times):.2f} to {max(times):.2f})"
        text += f" {program.mb:.0f} MB"
    for i, peer in enumerate(programs[1:], 1):
        ratios = [r[i] / r[0] for r in rounds]
        text += f"  {peer.name} : Veldt {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    print(text, flush=True)
    for program in programs:
        program.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="BENCH_NETWORKS")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.0, help="of a sample; 1 by default")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--keep", metavar="FOLDER", help="of the ONNX files, which are made if they are missing")
    parser.add_argument("--processor", action="store_true", help="processor time, on one thread")
    parser.add_argument("--serve", help=argparse.SUPPRESS)  # a peer's side, for itself
    o = parser.parse_args()
    cases = o.cases.split(",")
    o.threads = 1 if o.processor else o.threads
    if unknown := [case for case in cases if case not in CASES]:
        parser.error(f"there is no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    if o.serve:
        network, batch = CASES[cases[0]]
        path = os.path.join(o.keep, network + ".onnx")
        return export(network, path) if o.serve == "export" else serve(o.serve, network, batch, o.threads, path)
    from importlib.metadata import version

    print(f"onnxruntime {version('onnxruntime')}, PyTorch {version('torch')}, {o.threads} threads, {o.rounds} rounds "
          f"in turn, milliseconds {'of processor time ' * o.processor}a call", flush=True)
    with tempfile.TemporaryDirectory() as made_here:
        for case in cases:
            run(case, o, o.keep or made_here)


main()
