"""A headless Chromium, spoken to in the DevTools protocol over a pair of pipes."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import struct
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
_PATIENCE = 60


class Browser:
    """One browser process, with a profile of its own."""

    def __init__(self, program: str, profile: Path) -> None:
        commands, self._commands = _pipe()
        self._answers, answers = _pipe()
        log = os.open(profile / "log", os.O_WRONLY | os.O_CREAT)
        # The browser reads commands from descriptor 3 and writes answers to 4.
        wiring = ((commands, 3), (answers, 4), (log, 1), (log, 2))
        self._pid = os.posix_spawn(
            program,
            [program, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, here, there) for here, there in wiring],
        )
        for descriptor in (commands, answers, log):
            os.close(descriptor)
        self._buffer = b""
        self._number = 0
        self._pages: list[Page] = []
        self.events: list[dict[str, Any]] = []

    def send(self, method: str, session: str | None = None, **params: object) -> dict[str, Any]:
        """Sends a command and waits for its result; events that come before are kept."""
        self._number += 1
        command: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if session is not None:
            command["sessionId"] = session
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        while True:
            message = self._receive()
            if message.get("id") != self._number:
                self.events.append(message)
            elif "error" in message:
                raise AssertionError(f"{method}: {message['error']}")
            else:
                return dict(message["result"])

    def wait_for(self, method: str, session: str) -> None:
        """Waits for an event that has not come yet."""
        while not any(_is(event, method, session) for event in self.events):
            self.events.append(self._receive())

    def _receive(self) -> dict[str, Any]:
        end = time.monotonic() + _PATIENCE
        while b"\0" not in self._buffer:
            assert select.select([self._answers], [], [], max(end - time.monotonic(), 0))[0]
            some = os.read(self._answers, 2**20)
            assert some, "the browser is gone"
            self._buffer += some
        message, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(message))

    def open(self, path: Path, *, dark: bool = False, width: int = 1200, height: int = 800) -> Page:
        """A file as a page, once it has been loaded."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(browser=self, target=target, session=session)
        self._pages.append(page)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.send("Emulation.setEmulatedMedia", features=[scheme])
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        page.send("Emulation.setDeviceMetricsOverride", **size)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.send(f"{domain}.enable")
        page.send("Page.navigate", url=path.as_uri())
        self.wait_for("Page.loadEventFired", session)
        return page

    def close_pages(self) -> None:
        """Closes what was opened, and forgets what was said of it."""
        for page in self._pages:
            self.send("Target.closeTarget", targetId=page.target)
        self._pages.clear()
        self.events.clear()

    def close(self) -> None:
        """Ends the browser."""
        self.send("Browser.close")
        os.waitpid(self._pid, 0)
        os.close(self._commands)
        os.close(self._answers)


@dataclass(kw_only=True)
class Page:
    """A page in the browser."""

    browser: Browser
    target: str
    session: str

    def send(self, method: str, **params: object) -> dict[str, Any]:
        return self.browser.send(method, self.session, **params)

    def evaluate(self, script: str) -> Any:
        """The value of an expression on the page."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def events(self, method: str) -> list[dict[str, Any]]:
        """The parameters of all events of a kind on this page."""
        self.evaluate("1")  # What was said before has come when this is answered.
        return [e["params"] for e in self.browser.events if _is(e, method, self.session)]

    def complaints(self) -> list[dict[str, Any]]:
        """Everything on the page's console."""
        names = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")
        return [params for name in names for params in self.events(name)]

    def requests(self) -> list[str]:
        """Every address that the page asked for."""
        return [event["request"]["url"] for event in self.events("Network.requestWillBeSent")]

    def picture(self, x: float, y: float, width: float, height: float) -> Picture:
        """A part of the page as it looks."""
        clip = {"x": x, "y": y, "width": width, "height": height, "scale": 1}
        answer = self.send("Page.captureScreenshot", format="png", clip=clip)
        return _decoded(base64.b64decode(answer["data"]))


def _is(event: dict[str, Any], method: str, session: str) -> bool:
    return event.get("method") == method and event.get("sessionId") == session


def _pipe() -> tuple[int, int]:
    """A pipe whose descriptors are not among those that the browser uses."""
    low = os.pipe()
    reading, writing = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in low)
    for end in low:
        os.close(end)
    return reading, writing


class Colour(NamedTuple):
    """Red, green and blue."""

    red: int
    green: int
    blue: int


@dataclass(kw_only=True)
class Picture:
    """Pixels, row by row."""

    width: int
    height: int
    rows: list[bytes]
    depth: int

    def colours(self) -> dict[Colour, int]:
        """How often each colour is there."""
        found: dict[Colour, int] = {}
        for row in self.rows:
            for start in range(0, len(row), self.depth):
                colour = Colour(*row[start : start + 3])
                found[colour] = found.get(colour, 0) + 1
        return found


def _decoded(png: bytes) -> Picture:
    """The pixels of a PNG as Chromium writes it: 8 bits, RGB or RGBA, not interlaced."""
    width, height, bits, kind = struct.unpack_from(">IIBB", png, 16)
    assert (bits, kind in {2, 6}) == (8, True)
    depth = 3 if kind == 2 else 4
    data, position = b"", 8
    while position < len(png):
        size, name = struct.unpack_from(">I4s", png, position)
        if name == b"IDAT":
            data += png[position + 8 : position + 8 + size]
        position += size + 12
    raw, stride = zlib.decompress(data), width * depth + 1
    rows, above = [], bytes(width * depth)
    for start in range(0, stride * height, stride):
        above = _unfiltered(raw[start], raw[start + 1 : start + stride], above, depth)
        rows.append(above)
    return Picture(width=width, height=height, rows=rows, depth=depth)


def _unfiltered(kind: int, row: bytes, above: bytes, depth: int) -> bytes:
    """PNG's filters: each byte is stored as its difference from a guess."""
    result = bytearray(len(row))
    for index, value in enumerate(row):
        left = result[index - depth] if index >= depth else 0
        corner = above[index - depth] if index >= depth else 0
        guesses = (0, left, above[index], (left + above[index]) // 2)
        guess = _paeth(left, above[index], corner) if kind == 4 else guesses[kind]
        result[index] = (value + guess) & 255
    return bytes(result)


def _paeth(left: int, above: int, corner: int) -> int:
    guess = left + above - corner
    return min((left, above, corner), key=lambda value: abs(guess - value))
