"""A headless Chromium with one page, driven through chromedriver (the W3C's WebDriver protocol)."""
import base64
import http.client
import json
import shutil
import socket
import subprocess
import time

SECONDS = 60


def find():
    """chromedriver's path, or None."""
    return shutil.which("chromedriver")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Page:
    def __init__(self, folder):
        self.port = free_port()
        self.driver = subprocess.Popen([find(), f"--port={self.port}"], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.session = ""
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     f"--user-data-dir={folder}", "--window-size=1200,800"]
        options = {"goog:chromeOptions": {"args": arguments}}
        try:
            self.wait_for(self.is_ready, "chromedriver")
            begun = self.call("POST", "/session", {"capabilities": {"alwaysMatch": options}})
            self.session = f"/session/{begun['sessionId']}"
        except Exception:
            self.driver.kill()
            self.driver.wait()
            raise

    def close(self):
        try:
            self.call("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait()

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.request(method, path, None if body is None else json.dumps(body),
                               {"Content-Type": "application/json"})
            response = connection.getresponse()
            value = json.loads(response.read())["value"]
        finally:
            connection.close()
        if response.status != 200:
            raise RuntimeError(f"{method} {path}: {value}")
        return value

    def is_ready(self):
        try:
            return self.call("GET", "/status")["ready"]
        except OSError:
            return False

    def wait_for(self, condition, what):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            found = condition()
            if found:
                return found
            time.sleep(0.1)
        raise TimeoutError(f"no {what} after {SECONDS} s")

    def open(self, url):
        self.call("POST", f"{self.session}/url", {"url": url})

    def text(self):
        script = {"script": "return document.body.innerText", "args": []}
        return self.call("POST", f"{self.session}/execute/sync", script)

    def press(self, key):
        actions = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        self.call("POST", f"{self.session}/actions",
                  {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("GET", f"{self.session}/screenshot")))
