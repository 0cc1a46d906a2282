"""A real browser for tests: Debian's Chromium without a window, driven through chromedriver by W3C's WebDriver.
   with Browser() as browser:
       browser.open("file:///tmp/field.html")
       browser.wait("return window.ready === true")
       browser.picture("shot.png")
A test without a browser ends by skip(), whose status, 77, is a skip for ctest."""
import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

# SwiftShader computes WebGL on the CPU; the sandbox wants rights that a container's root has not.
ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--use-angle=swiftshader",
             "--enable-unsafe-swiftshader", "--force-color-profile=srgb", "--force-device-scale-factor=1",
             "--no-first-run", "--disable-background-networking", "--disable-component-update"]


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(77)


class Failed(Exception):
    pass


class Browser:
    """`arguments` are further ones of Chromium's."""

    def __init__(self, arguments=(), width=1200, height=900):
        self.chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
        if not self.chromium or not driver:
            skip("chromium and chromedriver are not here")
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        self.folder = tempfile.mkdtemp(prefix="veldt-browser-")
        self.driver = subprocess.Popen([driver, f"--port={port}"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, env={**os.environ, "HOME": self.folder})
        try:
            self._begin([*ARGUMENTS, f"--user-data-dir={self.folder}/profile",
                         f"--window-size={width},{height}", *arguments])
        except BaseException:
            self.close()
            raise

    def _begin(self, arguments):
        self.session = None
        options = {"args": arguments, "binary": self.chromium}
        wanted = {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options,
                                  "goog:loggingPrefs": {"browser": "ALL"}}}
        for attempt in range(100):
            try:
                self.session = self._call("POST", "/session", {"capabilities": wanted})["sessionId"]
                return
            except (urllib.error.URLError, ConnectionError):
                if attempt == 99 or self.driver.poll() is not None:
                    raise
                time.sleep(0.1)

    def _call(self, method, path, body=None):
        request = urllib.request.Request(self.address + path, method=method,
                                         data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as e:
            said = json.load(e)["value"]
            raise Failed(f"{said['error']}: {said['message']}") from None

    def _do(self, method, path, body=None):
        return self._call(method, f"/session/{self.session}{path}", body)

    def open(self, url):
        self._do("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """What the body of a function gives: run("return 1 + arguments[0]", 2)."""
        return self._do("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, script, seconds=60, what=None):
        """Until the script gives something that is true; returns that."""
        end = time.monotonic() + seconds
        while True:
            value = self.run(script)
            if value:
                return value
            if time.monotonic() > end:
                raise Failed(f"after {seconds} s there is no {what or script}")
            time.sleep(0.05)

    def devtools(self, method, **parameters):
        """A command of the DevTools protocol, such as Emulation.setDeviceMetricsOverride."""
        return self._do("POST", "/goog/cdp/execute", {"cmd": method, "params": parameters})

    def size(self, width, height):
        """The page's width and height in pixels, exactly."""
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                      mobile=False)

    def _screenshot(self):
        for left in reversed(range(3)):  # on a busy machine the renderer may be late
            try:
                return self._do("GET", "/screenshot")
            except Failed as error:
                if left == 0 or "renderer" not in str(error):
                    raise

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self._screenshot()))

    def press(self, key):
        """A key on the page: "s", " ", or a code of WebDriver such as "\\ue012" (left)."""
        keys = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self._do("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": keys}]})

    def messages(self):
        """What the page and the browser wrote into the console since the last call: errors, and breaches of a
        content security policy."""
        return [f"{m['level']}: {m['message']}" for m in self._do("POST", "/se/log", {"type": "browser"})]

    def close(self):
        try:
            if getattr(self, "session", None):
                self._do("DELETE", "")
        except (OSError, Failed):
            pass
        self.driver.terminate()
        self.driver.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
