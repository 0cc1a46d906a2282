#!/usr/bin/env python3
"""How long a browser takes to decode a packed photograph: photograph_page.py VELDT PACKED [ROUNDS]. From the
opening of its page to the picture on it, by the page's own clock, beside veldt unpack in turn."""
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "support"))
from browser import Browser  # noqa: E402

DONE = """return new Promise(done => {
  const look = () => window.veldt && veldt.isDone() ? done(performance.now()) : requestAnimationFrame(look);
  look();
})"""


def main():
    veldt, packed, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 7
    shown, unpacked = [], []
    with Browser() as browser, tempfile.TemporaryDirectory() as folder:
        page, picture = os.path.join(folder, "page.html"), os.path.join(folder, "picture.png")
        subprocess.run([veldt, "export", packed, "-o", page, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        for _ in range(rounds):
            browser.open("file://" + page)
            shown.append(browser.run(DONE) / 1e3)
            start = time.monotonic()
            subprocess.run([veldt, "unpack", packed, "-o", picture, "--quiet"], check=True, stdout=subprocess.DEVNULL)
            unpacked.append(time.monotonic() - start)
    for name, seconds in ("page", shown), ("veldt unpack", unpacked):
        print(f"{name}: {statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})")


if __name__ == "__main__":
    main()
