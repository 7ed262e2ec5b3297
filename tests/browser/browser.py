# SPDX-License-Identifier: MIT
"""A headless Chromium, driven over its DevTools protocol through a pair of pipes: no driver program, no socket, no
package beyond Python's own. What people do is sent as input events, so that it goes the way that theirs would."""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
KEYS = {"Enter": 13, "Escape": 27, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38,
        "ArrowRight": 39, "ArrowDown": 40, "Tab": 9, " ": 32}


def find():
    """The path of a Chromium, or None."""
    return os.environ.get("HONE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class Failure(Exception):
    pass


class Browser:
    """One page of a Chromium. errors collects what its console complains of, requests what it asks the network for."""

    def __init__(self, width=1320, height=900, timeout=30):
        self.folder = tempfile.mkdtemp(prefix="hone-browser-")
        self.timeout = timeout
        self.number = 0
        self.pending = b""
        self.errors = []
        self.requests = []
        self.start(width, height)

    def start(self, width, height):
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()

        def connect():  # the protocol is spoken over descriptors 3 and 4
            first, second = os.dup(to_browser), os.dup(from_browser)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self.process = subprocess.Popen(
            [find(), "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking", "--hide-scrollbars",
             "--force-color-profile=srgb", f"--user-data-dir={self.folder}", f"--window-size={width},{height}",
             "--proxy-server=http://127.0.0.1:9", "about:blank"],
            preexec_fn=connect, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self.session = None
        pages = [target for target in self.call("Target.getTargets")["targetInfos"] if target["type"] == "page"]
        self.session = self.call("Target.attachToTarget", targetId=pages[0]["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height)

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(5)
        except (Failure, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.input)
        os.close(self.output)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.output, data):]
        number = self.number
        while True:
            answer = self.receive()
            if answer.get("id") != number:
                continue
            if "error" in answer:
                raise Failure(f"{method}: {answer['error']['message']}")
            return answer["result"]

    def receive(self):
        while b"\0" not in self.pending:
            ready, _, _ = select.select([self.input], [], [], self.timeout)
            data = os.read(self.input, 1 << 20) if ready else b""
            if not data:
                raise Failure("the browser does not answer")
            self.pending += data
        text, _, self.pending = self.pending.partition(b"\0")
        message = json.loads(text)
        self.note(message)
        return message

    def note(self, message):
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(argument.get("value")) for argument in parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.errors.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent" and not parameters["request"]["url"].startswith(("data:", "about:")):
            self.requests.append(parameters["request"]["url"])

    # --- what a test asks

    def open(self, path):
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        self.until("document.readyState === 'complete' && 'drawn' in document.body.dataset")

    def evaluate(self, expression):
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise Failure(f"{expression}: {details.get('exception', {}).get('description', details['text'])}")
        return answer["result"].get("value")

    def until(self, expression):
        """Waits until the expression holds, and gives its value."""
        end = time.monotonic() + self.timeout
        while time.monotonic() < end:
            value = self.evaluate(expression)
            if value:
                return value
            time.sleep(0.02)
        raise Failure(f"never came true: {expression}")

    def text(self, selector):
        """What is written in the first such element."""
        return self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText")

    def texts(self, selector):
        return self.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.innerText)")

    def count(self, selector):
        return self.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")

    def box(self, selector):
        """[x, y, width, height] of the first such element in the window, after scrolling to it."""
        return self.evaluate(f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
                             "e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect();"
                             "return [b.x, b.y, b.width, b.height]; })()")

    # --- what a person does

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, selector):
        x, y, width, height = self.box(selector)
        self.click_at(x + width / 2, y + height / 2)

    def click_at(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def drag(self, start, end):
        self.mouse("mouseMoved", *start)
        self.mouse("mousePressed", *start, button="left", buttons=1, clickCount=1)
        for part in (0.3, 0.7, 1):
            self.mouse("mouseMoved", start[0] + (end[0] - start[0]) * part, start[1] + (end[1] - start[1]) * part,
                       button="left", buttons=1)
        self.mouse("mouseReleased", *end, button="left", clickCount=1)

    def press(self, key):
        code = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key]}
        text = {"text": "\r"} if key == "Enter" else {"text": " "} if key == " " else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **code, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **code)

    def type(self, selector, text):
        """Into a field, in place of what is there."""
        self.evaluate(f"(e => {{ e.focus(); e.select?.(); }})(document.querySelector({json.dumps(selector)}))")
        self.press("Home") if not text else None
        self.call("Input.insertText", text=text)

    def choose(self, selector, value):
        """An option of a list, as the list itself would tell of it."""
        self.evaluate(f"(e => {{ e.value = {json.dumps(str(value))}; e.dispatchEvent(new Event('change')); }})"
                      f"(document.querySelector({json.dumps(selector)}))")

    # --- how it looks

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def theme(self, name):
        """light or dark, as the system would say."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def clip(self, path, x, y, width, height):
        """A PNG of a part of the page."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                         clip={"x": x, "y": y, "width": width, "height": height, "scale": 1})["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def print(self, path):
        """A PDF of the page as it prints."""
        data = self.call("Page.printToPDF", printBackground=True)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))
