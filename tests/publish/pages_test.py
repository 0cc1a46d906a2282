#!/usr/bin/env python3
"""Pages of veldt export in a real browser: what they draw is what veldt render draws, at three zooms (other kinds of
network at one), on the GPU (SwiftShader plays it) and in JavaScript. pages_test.py VELDT DIGESTS"""
import base64
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from browser import Browser, Failed  # noqa: E402

VELDT, DIGESTS = map(os.path.abspath, sys.argv[1:3])
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MOST_CHANGED = 0.001  # of the pixels may differ by more than 1/255
READ = 'let s = ""; for (const x of veldt.pixels()) s += String.fromCharCode(x); return btoa(s)'


def veldt(*arguments):
    subprocess.run([VELDT, *arguments, "--quiet"], check=True, stdout=subprocess.DEVNULL)


def write_png(path, width, height, channels, level):
    """Of 8 bits; level(x, y) gives the channels' bytes."""
    rows = b"".join(b"\0" + b"".join(bytes(level(x, y)) for x in range(width)) for y in range(height))
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[channels]

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def read_png(path):
    """RGBA bytes of a PNG of 8 bits that is not interlaced."""
    with open(path, "rb") as file:
        data = file.read()
    at, packed = 8, b""
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if name == b"IHDR":
            width, height, bits, kind = struct.unpack(">IIBB", body[:10])
        if name == b"IDAT":
            packed += body
        at += 12 + length
    assert bits == 8, bits
    n = {0: 1, 2: 3, 4: 2, 6: 4}[kind]
    raw, stride, before, out = zlib.decompress(packed), width * n, bytes(width * n), bytearray()
    for y in range(height):
        method, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride):
            a, b, c = (row[i - n] if i >= n else 0), before[i], (before[i - n] if i >= n else 0)
            nearest = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            row[i] = (row[i] + (0, a, b, (a + b) // 2, nearest)[method]) & 255
        before = bytes(row)
        for i in range(0, stride, n):
            grey = [row[i]] * 3 if n < 3 else list(row[i:i + 3])
            out += bytes(grey + [row[i + n - 1] if n % 2 == 0 else 255])
    return bytes(out)


def make_fields():
    """{name: width, height} of models beside their names."""
    os.symlink(os.path.join(SOURCE, "assets", "cub.png"), "cub.png")
    small = ["--steps", "60", "--seed", "1", "--depth", "2"]
    veldt("fit", "cub.png", "-o", "siren.safetensors", "--model", "siren", "--width", "24", *small)

    def hills(x, y):
        wave = math.sin(x * 0.7) * math.cos(y * 0.5) * 90 + (x * 7919 + y * 104729) % 30
        return [int(min(255, max(0, base + wave))) for base in (110, 130, 90)]
    write_png("hills.png", 40, 28, 3, hills)
    veldt("fit", "hills.png", "-o", "finer.safetensors", "--model", "finer", "--width", "30", *small)
    veldt("fit", "hills.png", "-o", "photo.safetensors", "--steps", "40", "--seed", "1")  # a grid with a closing
    write_png("icon.png", 24, 24, 4, lambda x, y: [200, 60, 10 * y, min(255, max(0, int(128 * (10.5 - math.hypot(x - 12, y - 12)))))])
    veldt("fit", "icon.png", "-o", "icon.safetensors", "--steps", "40", "--seed", "1")
    write_png("sprite.png", 16, 12, 3, lambda x, y: [(200, 40, 40), (30, 30, 90), (250, 240, 180)][(x // 3 + y // 2) % 3])
    veldt("fit", "sprite.png", "-o", "sprite.safetensors", "--steps", "40", "--seed", "1")
    return {"siren": (200, 200), "finer": (40, 28), "photo": (40, 28), "icon": (24, 24), "sprite": (16, 12)}


def make_other_kinds():
    """The names of small fields of hills.png, one for each kind of network that make_fields() has not."""
    kinds = {name: ["--model", name, "--width", "16", "--depth", "2"] for name in ("tanh", "relu", "gauss", "wire", "fourier", "hashgrid")}
    kinds["simba"] = ["--preset", "simba"]
    for name, arguments in kinds.items():
        veldt("fit", "cub.png" if name == "simba" else "hills.png", "-o", name + ".safetensors", "--steps", "20", "--seed", "1", *arguments)
    return list(kinds)


def compare(browser, name, width, height, renderer, zooms=None):
    browser.open("file://" + os.path.abspath(name + ".html") + f"?{renderer}#renderer={renderer}")
    browser.wait("return !!window.veldt")
    if browser.run("return veldt.renderer()") != renderer:
        raise Failed(f"{name}: not drawn by {renderer}, but: {browser.run('return document.body.innerText')}")
    usual = [(0, 0, 1), (width / 4, height / 4, 4), (width / 2, height / 4, 64)]
    if renderer == "webgl2":
        usual.append((0, 0, 0.5))
    for x, y, scale in zooms or usual:
        w, h = (min(36, int(size * scale)) for size in (width, height))
        browser.run('document.getElementById("stage").style.cssText = "right: auto; bottom: auto; width: %dpx; '
                    'height: %dpx"' % (w, h))
        browser.wait(f"return veldt.view().width === {w} && veldt.view().height === {h}")
        browser.run(f"veldt.show({{x: {x}, y: {y}, scale: {scale}}})")
        browser.wait("return veldt.isDone()", 100)
        seen = base64.b64decode(browser.run(READ))
        veldt("render", name + ".safetensors", "-o", "truth.png", "--crop", f"{x},{y},{w / scale},{h / scale}", "--size",
              f"{w}x{h}", "--bits", "8")
        truth = read_png("truth.png")
        if len(seen) != len(truth) or len(set(truth)) < 3:
            raise Failed(f"{name} at {scale}: {len(seen)} bytes where {len(truth)} belong, or nothing to see")
        # Colours of what is clear do not matter.
        changed = sum(any(abs(seen[i + k] - truth[i + k]) > 1 for k in range(4)) and max(seen[i + 3], truth[i + 3]) > 0
                      for i in range(0, len(truth), 4))
        print(f"{name} {renderer} at {scale}: {changed} of {len(truth) // 4} pixels differ")
        if changed > MOST_CHANGED * len(truth) / 4:
            raise Failed(f"{name} at {scale} by {renderer}: {changed} of {len(truth) // 4} pixels differ by more than 1/255")


def sounds(browser):
    frames = b"".join(struct.pack("<h", int(9000 * math.sin(i * 0.05) + 4000 * math.sin(i * 0.31))) for i in range(4000))
    with open("tone.wav", "wb") as file:
        file.write(b"RIFF" + struct.pack("<I", 36 + len(frames)) + b"WAVEfmt " +
                   struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16) + b"data" + struct.pack("<I", len(frames)) + frames)
    veldt("fit", "tone.wav", "-o", "tone.safetensors", "--steps", "60", "--seed", "1")
    veldt("export", "tone.safetensors", "-o", "tone.html")
    veldt("render", "tone.safetensors", "-o", "truth.wav", "--bits", "32")
    with open("truth.wav", "rb") as file:
        data = file.read()
    begin = data.index(b"data") + 8
    truth = struct.unpack(f"<{(len(data) - begin) // 4}f", data[begin:])
    browser.open("file://" + os.path.abspath("tone.html"))
    browser.wait("return window.veldt && veldt.isDone()")
    seen = json.loads(browser.run("return JSON.stringify([...veldt.samples()[0]])"))
    worst = max(abs(a - b) for a, b in zip(seen, truth))
    if len(seen) != len(truth) or worst > 2 / 32768:
        raise Failed(f"the sound differs by {worst}")
    # The sound is half a second long: on a busy machine it is over before a look, so the page notes what the button says.
    browser.run("""window.said = []; const button = document.getElementById("play");
        new MutationObserver(() => said.push(button.textContent)).observe(button, {childList: true, characterData: true,
                                                                                  subtree: true})""")
    browser.press(" ")  # a press of the user's: a page by itself may not play
    browser.wait("return said.join() === 'Pause,Play'", 60, "sound from its beginning to its end")
    # A page that is not seen has no frames, and plays on.
    browser.run("said = []; window.requestAnimationFrame = () => 0")
    browser.press(" ")
    browser.wait("return said.join() === 'Pause,Play'", 60, "end of the unseen sound")


def tells(browser, renderer):
    """A drawing that takes long says how far it is; who draws is named: here it is no GPU."""
    script = browser.devtools("Page.addScriptToEvaluateOnNewDocument", source="""const now = performance.now.bind(performance);
        window.said = new Set(); performance.now = () => 300 * now();
        addEventListener("DOMContentLoaded", () => new MutationObserver(list => list.forEach(m => said.add(m.target.textContent)))
          .observe(document.getElementById("progress"), {childList: true}))""")["identifier"]  # a clock that runs fast
    browser.open("file://" + os.path.abspath("photo.html" if renderer == "js" else "finer.html") + f"?tells-{renderer}#renderer={renderer}")
    if renderer == "js":  # a second or more of JavaScript, in many frames
        browser.wait("return [...said].some(text => /^\\d+ %, about .* left$/.test(text))", 60, "progress")
        browser.wait("return veldt.isDone() && document.getElementById('progress').textContent === ''", 60, "end of it")
    else:  # the GPU draws what is small at once
        browser.wait("return window.veldt && veldt.isDone()", 60)
        last = browser.run("return document.getElementById('state').textContent")
        if last != "drawn by the processor, which plays a GPU (SwiftShader)":
            raise Failed(f"the renderer is not named: {last}")
    browser.devtools("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


def falls_back(browser, what, breaks):
    """The page is whole without the GPU, or without workers, after a script that breaks them."""
    script = browser.devtools("Page.addScriptToEvaluateOnNewDocument", source=breaks)["identifier"]
    browser.open("file://" + os.path.abspath("finer.html") + "?" + what)
    browser.wait("return window.veldt && veldt.renderer() === 'js' && veldt.isDone()", 60, f"picture without {what}")
    if len(set(base64.b64decode(browser.run(READ)))) < 10:
        raise Failed(f"the picture is empty without {what}")
    canvas = "document.getElementById('view')"
    if not browser.run(f"return {canvas}.getContext('2d').getImageData(0, 0, {canvas}.width, {canvas}.height).data.some(x => x)"):
        raise Failed(f"nothing is seen without {what}")
    browser.devtools("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
    said = browser.messages()
    if len(said) != 1 or "does not compile" not in said[0]:
        raise Failed(f"without {what}: {said}")


def moves(browser):
    browser.open("file://" + os.path.abspath("finer.html"))
    browser.wait("return window.veldt && veldt.isDone()", 100)
    before = browser.run("return veldt.view()")
    browser.press("=")
    browser.wait(f"return veldt.view().scale > {1.99 * before['scale']}")
    browser.press("\ue014")  # right
    browser.wait(f"return veldt.view().x > {before['x']}")
    browser.press("0")
    browser.wait(f"return Math.abs(veldt.view().scale - {before['scale']}) < 1e-9")
    # Beyond what floats can tell apart doubles draw, and the picture stays whole.
    browser.run("veldt.show({x: 20.123456789, y: 14.2, scale: 4e6})")
    browser.wait("return veldt.isDone() && veldt.renderer() === 'js'", 100)
    if base64.b64decode(browser.run(READ))[3] != 255:
        raise Failed("a deep view is empty")


def photographs(browser):
    """The browser decodes a packed photograph as veldt unpack does, bit by bit, and shows previews until then."""
    script = browser.devtools("Page.addScriptToEvaluateOnNewDocument", source="""window.widths = [];
        const put = CanvasRenderingContext2D.prototype.putImageData, shown = canvas =>
          canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        CanvasRenderingContext2D.prototype.putImageData = function(rows, ...place) {
          if (this.canvas.width === width && !window.before) window.before = shown(this.canvas);
          if (widths.at(-1) !== rows.width) widths.push(rows.width);
          put.call(this, rows, ...place);
        }""")["identifier"]
    for name in "hills", "clear", "odd":
        if name == "clear":
            write_png("clear.png", 70, 50, 4, lambda x, y: [3 * x, 5 * y, x * y % 251, 255 if math.hypot(x - 35, y - 25) < 20 else 5 * y])
        if name == "odd":
            subprocess.run([DIGESTS, "--write", "odd.vp"], check=True)
        else:
            veldt("pack", name + ".png", "-o", name + ".vp", "--family", "photograph", "--steps", "20", "--bpp", "3")
        veldt("unpack", name + ".vp", "-o", "truth.png")
        veldt("export", name + ".vp", "-o", name + ".html")
        browser.open("file://" + os.path.abspath(name + ".html"))
        browser.wait("return window.veldt && veldt.isDone()", 100)
        seen, truth = base64.b64decode(browser.run(READ)), read_png("truth.png")
        # A canvas keeps colours multiplied by their alpha.
        worst = max(max(abs(seen[i + 3] - truth[i + 3]), *(abs(seen[i + k] - truth[i + k]) * truth[i + 3] / 255 for k in range(3)))
                    for i in range(0, len(truth), 4))
        print(f"{name}.vp: worst difference {worst:.2f}")
        if len(seen) != len(truth) or worst > (1 if name == "clear" else 0):
            raise Failed(f"{name}.vp: the browser decodes other pixels: {worst} of 255")
        preview = base64.b64decode(browser.run(READ.replace("veldt.pixels()", "before")))
        width = browser.run("return widths.at(-1)")
        if browser.run("return widths") != [-(-width // 2 ** level) for level in range(6, -1, -1)]:
            raise Failed(f"{name}.vp: previews do not come from coarse to fine: {browser.run('return widths')}")
        turned = b"".join(truth[i:i + 4] for i in range(len(truth) - 4, -1, -4))
        near, far = (sum(abs(a - b) for a, b in zip(preview, other)) / len(truth) for other in (truth, turned))
        print(f"{name}.vp: the preview is {near:.1f} of 255 away, and {far:.1f} from the picture upside down")
        if name == "odd":
            continue  # its details are noise
        if near > 40 or name == "clear" and far < near + 5:  # of hills the coarse levels say nothing
            raise Failed(f"{name}.vp: the preview is another picture: {near} of 255 away")
    browser.devtools("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


def tiles(browser):
    veldt("export", "finer.safetensors", "-o", "tiles/", "--size", "600")
    browser.open("file://" + os.path.abspath("tiles/index.html"))
    browser.wait("return window.veldt && veldt.isDone()")
    if browser.run("return veldt.drawn()") < 3:
        raise Failed("the tiles are not shown")
    scale = browser.run("return document.getElementById('scale').textContent")
    browser.size(420, 380)
    browser.wait(f"return document.getElementById('scale').textContent !== '{scale}'", 20, "the whole picture in a larger window")
    browser.size(300, 260)
    for _ in range(9):
        browser.press("=")
    browser.wait("return document.getElementById('scale').textContent === '3,200 %'", 20, "scale of the largest view, in words")


def main():
    with Browser(width=300, height=300) as browser, tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        browser.size(300, 260)
        for name, (width, height) in make_fields().items():
            veldt("export", name + ".safetensors", "-o", name + ".html")
            compare(browser, name, width, height, "webgl2")
            compare(browser, name, width, height, "js")
        for name in make_other_kinds():
            veldt("export", name + ".safetensors", "-o", name + ".html")
            for renderer in ("webgl2", "js"):
                compare(browser, name, 40, 28, renderer, zooms=[(10, 7, 2)])
        moves(browser)
        tells(browser, "webgl2")
        tells(browser, "js")
        no_gpu = "WebGL2RenderingContext.prototype.getShaderParameter = () => false;"
        falls_back(browser, "shaders", no_gpu)
        falls_back(browser, "workers", no_gpu + """const Real = Worker;
            window.Worker = function() { return new Real(URL.createObjectURL(new Blob(["throw 1"]))); };""")
        tiles(browser)
        photographs(browser)
        sounds(browser)
        said = browser.messages()
        os.chdir("/")
    if said:
        raise Failed("the browser complains: " + "; ".join(said))


if __name__ == "__main__":
    try:
        main()
    except Failed as failure:
        sys.exit(f"pages_test: {failure}")
