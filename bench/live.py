#!/usr/bin/env python3
"""What being looked at costs a training: LeNet with and without its page, and with viewers that never read, in turn.
Usage: bench/live.py VELDT DATA [BASE] [ROUNDS]   BASE: another veldt, such as one from before there were pages"""
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile

veldt, data = sys.argv[1], sys.argv[2]
base = sys.argv[3] if len(sys.argv) > 3 else ""
rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 6
recipe = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../recipes/mnist.toml")


def train(folder, binary, *more, viewers=0):
    """Steps a second, and the most memory in MB."""
    command = [binary, "train", recipe, "--data", data, "--out", os.path.join(folder, "run"), "--set", "train.epochs=2",
               "--json", *more]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    sockets = []
    for line in run.stderr:
        found = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=([0-9a-f]+)", line)
        for _ in range(viewers if found else 0):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.connect(("127.0.0.1", int(found[1])))
            s.sendall(f"GET /events?token={found[2]} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            sockets.append(s)
    result = json.loads(run.stdout.read())
    run.wait()
    for s in sockets:
        s.close()
    return result["steps"] / result["seconds"], result["memory_bytes"] / 1e6


kinds = {"record and report": lambda f: train(f, veldt), "page, nobody looks": lambda f: train(f, veldt, "--live"),
         "page, TensorBoard, a viewer that never reads": lambda f: train(
             f, veldt, "--live", "--tensorboard", os.path.join(f, "tb"), viewers=1),
         "page, 8 viewers that never read": lambda f: train(f, veldt, "--live", viewers=8)}
if base:
    kinds = {"before": lambda f: train(f, base), **kinds}
got = {kind: [] for kind in kinds}
for _ in range(rounds):
    for kind, measure in kinds.items():
        with tempfile.TemporaryDirectory() as folder:
            got[kind].append(measure(folder))
first = next(iter(kinds))
for kind, values in got.items():
    ratios = [v[0] / b[0] for v, b in zip(values, got[first])]
    print(f"{kind:46} {statistics.median(v[0] for v in values):7.1f} steps/s  {statistics.median(ratios):.3f} of "
          f"'{first}' ({min(ratios):.3f} .. {max(ratios):.3f})  {statistics.median(v[1] for v in values):6.1f} MB")
