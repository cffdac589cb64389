"""A Chromium without a screen, driven over W3C WebDriver by Debian's chromedriver: what a visitor sees."""

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

_CHROMIUMS = ("chromium", "google-chrome", "chromium-browser")
_ARGUMENTS = (
    "headless=new",
    "no-sandbox",
    "disable-gpu",
    "disable-dev-shm-usage",
    "disable-background-networking",
)
_START_SECONDS = 30.0


class Browser:
    """One page. Made by `browsing`."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def open(self, url: str) -> None:
        self._post("/url", {"url": url})

    def run(self, script: str, *arguments: object) -> Any:
        """The value of a function's body in the page."""
        return self._post("/execute/sync", {"script": script, "args": arguments})

    def text(self, selector: str) -> str:
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent).join('|')", selector
        )

    def press(self, key: str) -> None:
        """A key, at the element that has the focus."""
        keys = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self._post("/actions", {"actions": [{"type": "key", "id": "keys", "actions": keys}]})

    def show(self, tab: str) -> None:
        self.run("document.getElementById('tab-' + arguments[0]).click()", tab)

    def look(self, width: int, scheme: str) -> None:
        """Gives the window a width and the system a colour scheme, `light` or `dark`."""
        self._cdp(
            "Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1, mobile=False
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._cdp("Emulation.setEmulatedMedia", features=features)

    def until(self, met: Callable[[], object], seconds: float, what: str) -> None:
        """Waits until a condition holds; fails the test after the limit."""
        deadline = time.monotonic() + seconds
        while not met():
            assert time.monotonic() < deadline, (
                f"not within {seconds:g} s: {what}; the page: {self.text('body')[:2000]}"
            )
            time.sleep(0.05)

    def complaints(self) -> list[str]:
        """Lines of the console that are errors or warnings, and requests that failed."""
        return [entry["message"] for entry in self._post("/se/log", {"type": "browser"})]

    def _cdp(self, command: str, **parameters: object) -> None:
        self._post("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def _post(self, path: str, body: object) -> Any:
        answer = self._http.post(path, json=body)
        assert answer.is_success, f"{path}: {answer.text[:500]}"
        return answer.json()["value"]


def find_chromium() -> str | None:
    """Chromium's path, if its chromedriver is there as well."""
    return next(filter(None, map(shutil.which, _CHROMIUMS)), None) if shutil.which("chromedriver") else None


@contextmanager
def browsing(folder: Path) -> Generator[Browser]:
    """A browser with an empty profile in `folder`, until the end of the block."""
    chromium = find_chromium()
    assert chromium
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    log = folder / "chromedriver.log"
    driver = subprocess.Popen(
        ["chromedriver", f"--port={port}", f"--log-path={log}"], stdout=subprocess.DEVNULL
    )
    try:
        arguments = [f"--{each}" for each in (*_ARGUMENTS, f"user-data-dir={folder / 'profile'}")]
        options = {"binary": chromium, "args": arguments}
        wanted = {"alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "WARNING"}}}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as http:
            _ready(http)
            session = http.post("/session", json={"capabilities": wanted}).json()["value"]
            assert "sessionId" in session, session
            http.base_url = f"http://127.0.0.1:{port}/session/{session['sessionId']}"
            try:
                yield Browser(http)
            finally:
                http.delete(f"http://127.0.0.1:{port}/session/{session['sessionId']}")
    finally:
        driver.terminate()
        driver.wait(10)


def _ready(http: httpx.Client) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            if http.get("/status").json()["value"]["ready"]:
                return
        except httpx.TransportError:
            assert time.monotonic() < deadline, "chromedriver does not start"
            time.sleep(0.05)
