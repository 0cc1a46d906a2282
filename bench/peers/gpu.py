#!/usr/bin/env python3
"""The steps of bench/gpu.cpp elsewhere: PyTorch, CuPy and JAX as they are found, and what cuBLAS makes of the device.

usage: gpu.py [--device cuda|cpu] [--quick] [--json FILE] [--seconds S] [--limit S]

Each peer runs in a process of its own (gpu_peer.py), for at most --limit seconds, and reports figure by figure, so
that what it had is kept when it fails or is stopped. One that is not installed is named and skipped. No further one
begins after --seconds.
"""
import argparse
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

PEERS = {
    "cublas": "cuBLAS",
    "torch_eager": "PyTorch eager",
    "torch_graphed": "PyTorch in a CUDA graph",
    "cupy": "CuPy",
    "jax": "JAX",
    "torch_compiled": "PyTorch compiled",  # last: it compiles for half a minute a case
}
MISSING = 3  # gpu_peer.py's status where a peer is not installed


def run_peer(peer, options, limit):
    command = [sys.executable, str(Path(__file__).with_name("gpu_peer.py")), peer, options.device]
    process = subprocess.Popen(
        command + (["--quick"] if options.quick else []),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )
    said, result = [], {"program": PEERS[peer], "steps": []}
    listener = threading.Thread(target=lambda: said.extend(process.stderr), daemon=True)
    listener.start()
    # A peer's own helpers (compilers) go with it.
    timer = threading.Timer(limit, lambda: os.killpg(process.pid, 9))
    timer.start()
    start = time.monotonic()
    for line in process.stdout:
        try:
            row = json.loads(line)
        except ValueError:
            continue  # what a library prints of itself
        key = row.pop("in")
        if key == "about":
            result.update(row)
        else:
            result.setdefault(key, []).append(row)
            print(f"{result['program']:26} {text_of(key, row)}", flush=True)
    status = process.wait()
    timer.cancel()
    listener.join(5)
    reason = said[-1].strip() if said else f"it ended with status {status}"
    if status == MISSING:
        result["missing"] = reason
        print(f"{result['program']:26} missing: {reason}")
    elif status and time.monotonic() - start >= limit:
        result["stopped"] = f"after {limit:.0f} s"
        print(f"{result['program']:26} stopped after {limit:.0f} s")
    elif status:
        result.setdefault("failed", []).append({"what": peer, "why": reason})
        print(f"{result['program']:26} FAILED: {reason}")
    return result


def text_of(key, row):
    if key == "steps":
        return f"{row['case']:16} {row['precision']:5} {row['median_ms']:10.4f} ms a step"
    if key == "ceilings":
        return f"{row['name']:22} {row['value']:10.4g} {row['unit']}"
    return f"{row['what']} FAILED: {row['why']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--limit", type=float, default=80)
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    results = []
    for peer, name in PEERS.items():
        left = end - time.monotonic()
        if left < 5:
            print(f"{name:26} skipped: the time is over")
            results.append({"program": name, "steps": [], "stopped": "before it began"})
        else:
            results.append(run_peer(peer, options, min(options.limit, left)))
        if options.json:
            Path(options.json).write_text(json.dumps({"peers": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
