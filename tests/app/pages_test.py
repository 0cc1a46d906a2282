#!/usr/bin/env python3
"""What real people see of a run: a real browser looks at the page of a real fit.
Usage: pages_test.py VELDT REPOSITORY"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

veldt, repository = sys.argv[1], sys.argv[2]
sys.path.insert(0, os.path.join(repository, "tests/support"))
from browser import Browser  # noqa: E402

failures = []


def check(holds, what):
    if not holds:
        print(f"FAIL: {what}")
        failures.append(what)


class Run:
    """A fit of the cub that goes on until it is stopped, with its page."""

    def __init__(self, folder, *arguments):
        self.folder = folder
        self.output = os.path.join(folder, "cub.safetensors")
        command = [veldt, "fit", os.path.join(repository, "assets/cub.png"), "-o", self.output, "--threads", "1",
                   "--steps", "1000000", *arguments, "--live"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder)
        self.url = None
        for line in self.process.stderr:
            if found := re.search(r"live page: (http://127\.0\.0\.1:\d+/\?token=[0-9a-f]{32})", line):
                self.url = found.group(1)
                break
        check(self.url, "the address is printed")

    def get(self, path="", headers={}, data=None):
        base = self.url.split("?")[0]
        request = urllib.request.Request(base + path, headers=headers, data=data)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as e:
            return e.code, e.read()

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.said = self.process.stderr.read()
        return self.process.wait()


# The mean difference between the canvases of the picture and the truth, in levels, at 100 x 100.
DIFFERENCE = """
const of = (id) => {
  const c = document.querySelector('#' + id + ' canvas');
  if (!c || c.width < 10) return null;
  const pixels = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, levels = [];
  for (let y = 0; y < 100; ++y)
    for (let x = 0; x < 100; ++x)
      levels.push(pixels[4 * (Math.floor((y + 0.5) / 100 * c.height) * c.width + Math.floor((x + 0.5) / 100 * c.width))]);
  return levels;
};
const a = of('figure0'), b = of('beside');
if (!a || !b) return null;
let sum = 0;
for (let i = 0; i < a.length; ++i) sum += Math.abs(a[i] - b[i]);
return [sum / a.length, document.querySelector('#figure0 figcaption').textContent];
"""


def a_fit_from_noise_to_cub(folder):
    run = Run(folder, "--checkpoint", "kept")
    try:
        look_at(run, folder)
    finally:
        code = run.end()
    check(code == 130, "a run that a viewer stops ends as by Ctrl-C")
    check("note: paused from the page" in run.said, f"the terminal says that it was paused: {run.said}")
    record = json.load(open(os.path.join(folder, "kept/record.json")))
    check(record["status"]["state"] == "stopped", "the record says how it ended")
    return os.path.join(folder, "kept/report.html")


def look_at(run, folder):
    with Browser() as browser, Browser(["--blink-settings=preferredColorScheme=0"]) as other:
        for b in (browser, other):
            b.open(run.url)
            b.wait("return document.getElementById('state').textContent === 'running'", what="running state")
        # Three moments: the first picture, then two that are nearer to the truth, the last of them the truth itself.
        browser.wait("return document.querySelector('#beside canvas')?.width > 10", what="the truth")
        browser.press("\ue012")  # left
        browser.wait("return Number(document.getElementById('when').max) > 3", what="pictures")
        stages = []
        # The newest is looked at until it is the truth: how long that takes is the machine's affair.
        for at, enough in (("0", 255), ("Math.floor(max / 2)", 255), ("max", 3)):
            browser.run(f"const s = document.getElementById('when'), max = Number(s.max); s.value = {at};"
                        "s.dispatchEvent(new Event('input'));")
            browser.wait("const p = drawn(runs[0])[Number(document.getElementById('when').value)];"
                         "return document.querySelector('#figure0 figcaption').textContent"
                         " === `step ${p.step.toLocaleString('en')}`", what="its pixels")
            stages.append(browser.wait(f"const seen = (() => {{{DIFFERENCE}}})(); return seen && seen[0] < {enough} && seen",
                                       120, f"a picture that differs by less than {enough}"))
            browser.picture(os.path.join(folder, f"stage{len(stages)}.png"))
        print("stages:", stages)
        check(stages[0][0] > 30, f"it begins far from the truth: {stages}")
        check(stages[1][0] < stages[0][0] / 2, f"it comes nearer: {stages}")
        check(other.run("return document.querySelectorAll('.chart path').length") >= 4, "two viewers see curves")
        check(other.run("return getComputedStyle(document.body).backgroundColor") != browser.run(
            "return getComputedStyle(document.body).backgroundColor"), "there is a dark page too")

        # Pause by keyboard: the other viewer sees it, and no step is taken.
        browser.press("p")
        for b in (browser, other):
            b.wait("return document.getElementById('state').textContent === 'paused'", what="paused state")
        step = "return document.querySelector('#numbers dd').textContent"
        before = browser.run(step)
        time.sleep(1)
        check(browser.run(step) == before, "a paused run takes no step")
        other.run("document.getElementById('pause').click()")
        browser.wait("return document.getElementById('state').textContent === 'running'", what="running again")

        # A phone.
        browser.size(360, 740)
        time.sleep(0.3)
        check(browser.run("return document.documentElement.scrollWidth") <= 360, "nothing is wider than a phone")

        strangers(run)

        saved = set(os.listdir(os.path.join(folder, "kept")))
        browser.press("s")
        end = time.monotonic() + 10
        while not any(name.startswith("ckpt-") and name not in saved for name in os.listdir(os.path.join(folder, "kept"))):
            check(time.monotonic() < end, "a checkpoint is saved when it is asked for")
            if time.monotonic() > end:
                break
            time.sleep(0.1)

        browser.press("x")
        browser.wait("return document.getElementById('sure').open", what="question")
        browser.run("document.querySelector('#sure button[value=yes]').click()")
        for b in (browser, other):
            b.wait("return document.getElementById('state').textContent === 'stopped'", what="stopped state")
        # What the test itself causes: pixels that are read, and a server that has ended.
        errors = [m for b in (browser, other) for m in b.messages()
                  if "ERR_CONNECTION_REFUSED" not in m and "willReadFrequently" not in m]
        check(not errors, f"the console stays empty: {errors}")


def strangers(run):
    token = run.url.split("token=")[1]
    good = {"X-Veldt-Token": token}
    for path, headers, data in [("", {}, None), ("?token=", {}, None), ("?token=" + "0" * 32, {}, None),
                                ("events?token=x", {}, None), (f"picture?run=0&number=1&token={token[:-1]}", {}, None),
                                ("control?run=0", {}, b"stop"), ("control?run=0", {"X-Veldt-Token": "0" * 32}, b"stop"),
                                (f"control?run=0&token={token}", {}, b"stop"),
                                ("control?run=0", {**good, "Origin": "http://evil.example"}, b"stop"),
                                (f"?token={token}", {"Host": "evil.example"}, None)]:
        status, body = run.get(path, headers, data)
        check(status == 403 and token.encode() not in body, f"{path} with {headers} is refused, not {status}")
    time.sleep(0.3)
    check(run.process.poll() is None, "strangers stop nothing")
    status, page = run.get(f"?token={token}")
    check(status == 200 and b"unsafe" not in page and b"eval(" not in page, "the page has no eval")


def a_report_from_disk(report, folder):
    check(os.path.getsize(report) < 2_000_000, f"the report is small: {os.path.getsize(report)}")
    with Browser() as browser:
        browser.devtools("Network.enable")
        browser.devtools("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0,
                         uploadThroughput=0)
        browser.open("file://" + report)
        browser.wait("return document.getElementById('state').textContent === 'stopped'", what="state in the report")
        browser.wait("return document.querySelector('#figure0 canvas').width > 10", what="picture in the report")
        for what in ("choices", "versions", "machine"):
            check(what in browser.run("return document.getElementById('panels').textContent"),
                  f"the report has {what}")
        check(browser.run("return document.querySelectorAll('.chart path').length") >= 4, "the report has curves")
        # Hovering shows values of that step.
        browser.run("const s = document.querySelector('.chart svg'), r = s.getBoundingClientRect();"
                    "s.dispatchEvent(new PointerEvent('pointermove', {clientX: r.left + r.width / 2, bubbles: true}));")
        check("step" in browser.run("return document.querySelector('.legend').textContent"), "curves can be hovered")
        # Another run in a watched folder: its curves, and none of those before.
        check(browser.run("""
            const curve = (number, values) => ({number, first: 0, name: "c" + number, unit: "", group: "", steps: values,
              seconds: values, values}), run = new_run("x", false);
            take(run, {status: {}, newest: [3, 7], series: [curve(0, [1, 2, 3]), curve(1, [7])]});
            take(run, {status: {}, newest: [5], series: [curve(0, [5])]});
            return [run.series.length, run.series[0].values.length, last_of(run, "c0"), last_of(run, "c1")];
            """) == [1, 1, 5, None], "curves of an earlier run are gone")
        check(not browser.messages(), "the report breaks no policy")

        # Two runs: what is of one of them says so.
        shutil.copytree(os.path.dirname(report), os.path.join(folder, "again"), dirs_exist_ok=True)
        both = os.path.join(folder, "both.html")
        subprocess.run([veldt, "report", os.path.dirname(report), os.path.join(folder, "again"), "-o", both, "--quiet"],
                       check=True, stdout=subprocess.DEVNULL)
        browser.open("file://" + both)
        browser.wait("return document.querySelectorAll('#runs tbody tr').length === 2", what="two runs")
        heads = "return [...document.querySelectorAll('#panels h2')].map((h) => h.textContent)"
        check("Notes of kept" in browser.run(heads), f"tables name their run: {browser.run(heads)}")
        browser.picture(os.path.join(folder, "both.png"))


with tempfile.TemporaryDirectory() as folder:
    folder = os.environ.get("VELDT_KEEP_PICTURES", folder)
    a_report_from_disk(a_fit_from_noise_to_cub(folder), folder)
sys.exit(1 if failures else 0)
