"""A headless Chromium, driven over the pipes of its debugging protocol (--remote-debugging-pipe):
JSON messages with a NUL behind each. Python's standard library only."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
KEYS = {"Enter": ("\r", 13), "Escape": ("", 27), "Backspace": ("", 8), "Home": ("", 36),
        "PageDown": ("", 34), "ArrowLeft": ("", 37), "ArrowUp": ("", 38), "ArrowRight": ("", 39), "ArrowDown": ("", 40),
        "End": ("", 35), " ": (" ", 32), "Tab": ("", 9)}


def find():
    """Its path, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One browser with one page; everything that the page complains of is in `complaints`, every
    request that it made in `requests`."""

    def __init__(self, width=1280, height=800, seconds=60):
        self.seconds = seconds
        self.folder = tempfile.mkdtemp(prefix="treadle-browser-")
        to_browser, self.to = os.pipe()
        self.back, from_browser = os.pipe()
        # The protocol wants its two ends as descriptors 3 and 4.
        arguments = " ".join(
            ["exec", find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--no-first-run", "--disable-dev-shm-usage", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--disable-default-apps",
             "--remote-debugging-pipe", f"--user-data-dir={self.folder}",
             f"--window-size={width},{height}", "about:blank",
             f"3<&{to_browser}", f"4>&{from_browser}"])
        self.process = subprocess.Popen(["bash", "-c", arguments], pass_fds=(to_browser, from_browser),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, env={**os.environ, "HOME": self.folder})
        os.close(to_browser)
        os.close(from_browser)
        self.number = 0
        self.read = b""
        self.events = []
        self.complaints = []
        self.requests = []
        self.session = None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t for t in targets if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"],
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height)

    def close(self):
        self.session = None
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except (OSError, EOFError, subprocess.TimeoutExpired, TimeoutError):
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.back)
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- the protocol ----

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        with os.fdopen(os.dup(self.to), "wb") as pipe:
            pipe.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self.next_message()
            if answer.get("id") != self.number:
                self.note(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    def next_message(self):
        end = time.monotonic() + self.seconds
        while b"\0" not in self.read:
            ready, _, _ = select.select([self.back], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(f"no answer for {self.seconds} s")
            octets = os.read(self.back, 1 << 20)
            if not octets:
                raise EOFError("the browser is gone")
            self.read += octets
        message, self.read = self.read.split(b"\0", 1)
        return json.loads(message)

    def note(self, event):
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.complaints.append(str(parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.complaints.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        self.events.append(method)

    # ---- what people do ----

    def open(self, url):
        """Returns when the page has loaded, and one of Treadle's has read its ledger."""
        self.events.clear()
        self.call("Page.navigate", url=url)
        while "Page.loadEventFired" not in self.events:
            self.note(self.next_message())
        self.wait_for("!document.querySelector('script[data-block]') || Boolean(globalThis.treadle)")

    def run(self, expression):
        """The value of a JavaScript expression; promises are waited for."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True, allowUnsafeEvalBlockedByCSP=False)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def wait_for(self, expression):
        end = time.monotonic() + self.seconds
        while not (value := self.run(expression)):
            if time.monotonic() > end:
                raise TimeoutError(f"never: {expression}")
            time.sleep(0.02)
        return value

    def drawn(self):
        """Two frames later all is drawn."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def press(self, key, modifiers=0):
        text, code = KEYS.get(key, (key, ord(key.upper()) if len(key) == 1 and key.isalnum() else 0))
        common = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)
        self.drawn()

    def type(self, text):
        for character in text:
            self.press(character)

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.drawn()

    def click(self, x, y):
        self.move(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.drawn()

    def click_on(self, selector):
        box = self.run(f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])"
                       f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())")
        self.click(*box)

    def wheel(self, x, y, delta, modifiers=0):
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=delta,
                  modifiers=modifiers)
        self.drawn()

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme):
        """"dark" or "light"."""
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.drawn()

    def screenshot(self, path):
        shot = self.call("Page.captureScreenshot", format="png")
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
