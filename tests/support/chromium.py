"""A real Chromium, driven over the DevTools protocol by pipes; no package is needed for that."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_PATIENCE = 60  # seconds


class Browser:
    """A page of a browser."""

    def __init__(self, to: int, out: int) -> None:
        self._to, self._out = to, out
        self._number, self._buffer = 0, b""
        self._session: dict[str, str] = {}
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = {"sessionId": self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """What a method of the protocol answers."""
        self._number += 1
        os.write(self._to, json.dumps({"id": self._number, "method": method, "params": parameters, **self._session}).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self._number:
                assert "error" not in message, message["error"]
                found: dict[str, Any] = message["result"]
                return found
            self.events.append(message)

    def _message(self) -> dict[str, Any]:
        end = time.monotonic() + _PATIENCE
        while b"\0" not in self._buffer:
            assert select.select([self._out], [], [], max(end - time.monotonic(), 0))[0], "Chromium does not answer"
            self._buffer += os.read(self._out, 1 << 20)
        one, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(one)
        return message

    def open(self, page: Path, fragment: str = "") -> None:
        """Load a page anew, even where only the fragment differs from the last one."""
        for url in ("about:blank", page.as_uri() + fragment):
            self.events.clear()
            self.call("Page.navigate", url=url)
            while not any(each.get("method") == "Page.loadEventFired" for each in self.events):
                self.events.append(self._message())

    def run(self, code: str) -> Any:
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def complaints(self) -> list[Any]:
        """What the browser's console says of errors and refused policies, and dialogs that were opened."""
        bad = ("Runtime.exceptionThrown", "Log.entryAdded", "Page.javascriptDialogOpening", "Runtime.consoleAPICalled")
        return [each["params"] for each in self.events if each.get("method") in bad]

    def pdf(self) -> bytes:
        """The page as it is printed."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser with a profile of its own."""
    assert PROGRAM
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    profile = tempfile.mkdtemp()
    options = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--remote-debugging-pipe",
        f"--user-data-dir={profile}",
    )

    def place() -> None:  # the protocol reads from 3 and writes to 4
        ends = os.dup(to_read), os.dup(from_write)
        os.dup2(ends[0], 3)
        os.dup2(ends[1], 4)

    command = [PROGRAM, *options, "about:blank"]
    process = subprocess.Popen(command, close_fds=False, preexec_fn=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(to_read)
    os.close(from_write)
    try:
        yield Browser(to_write, from_read)
    finally:
        os.close(to_write)  # the browser ends with its pipe
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(from_read)
        shutil.rmtree(profile, ignore_errors=True)
