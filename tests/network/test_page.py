"""The live page in Chromium, inside the network's namespaces: nothing but the controller can be reached."""

import asyncio
import re
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from groupflow.agents import api_token
from groupflow.control.live.sampler import MOST_VIEWERS
from groupflow.files import topology
from tests.network.harness import MIB, Lab, MakeLab, eventually
from tests.support.browser import Browser, browsing, find_chromium

TOPOLOGY = """
name: two
defaults: {link: {rate: 20mbit, delay: 2ms, queue: 60}}
switches: {s1: {device_id: 1, grpc: 9561}, s2: {device_id: 2, grpc: 9562}}
hosts: {h1: {ip: 10.0.1.1/24}, h2: {ip: 10.0.2.1/24}}
links:
  - {ends: [h1, s1]}
  - {ends: [s1, s2], rate: 8mbit}
  - {ends: [h2, s2]}
"""
HIDDEN = """
const found = (what) => [...document.querySelectorAll(what)];
const place = (each) => each.getBoundingClientRect();
const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
const boxes = found(".queue .box").map(place);
return found(".node:not(.switch) .name").filter((name) => boxes.some((box) => meet(place(name), box)))
  .map((name) => name.textContent);
"""
FLOOD = """
import socket, time
out = socket.socket(type=socket.SOCK_DGRAM)
while True:
    out.sendto(bytes(1400), ("10.0.2.1", 9))
    time.sleep(0.0005)
"""


@pytest.mark.skipif(find_chromium() is None, reason="needs Chromium or Google Chrome, and chromedriver")
async def test_the_page_shows_what_happens(make_lab: MakeLab, tmp_path: Path) -> None:
    with make_lab(topology.parse(TOPOLOGY)) as lab, browsing(tmp_path) as browser:
        browser.open(api_token.page(lab.controller.url))
        browser.until(lambda: browser.text("#link") == "live", 20, "the page is live")
        browser.until(lambda: "2 of 2" in browser.text("#facts"), 10, "both switches are up")
        _loads_all_from_its_controller(browser, lab.controller.url)
        await asyncio.to_thread(_fits, browser)
        await _shows_a_transfer(lab, browser)
        _shows_a_queue_that_grows(lab, browser)
        _obeys_the_keyboard(browser)
        _traces_a_packet(lab, browser)
        _shows_a_killed_switch(lab, browser)
        assert browser.complaints() == []
        browser.open(f"{lab.controller.url}/docs")
        browser.until(
            lambda: "/v1/sessions" in browser.text(".opblock-summary-path"), 10, "the API's requests"
        )
        assert browser.complaints() == []


async def test_viewers_that_stop_reading_hold_up_nobody(pair: Lab) -> None:
    """A reader has frames; one viewer too many is refused in a line; viewers that leave make room."""
    url = pair.controller.url
    headers = api_token.headers(url)

    def frames(most: int) -> int:
        with httpx.stream("GET", f"{url}/v1/live", headers=headers, timeout=10) as answer:
            if answer.status_code == 503:
                return 0
            told = (line for line in answer.iter_lines() if line.startswith("data:"))
            return sum(1 for _ in islice(told, most))

    with ExitStack() as stack:
        silent = [stack.enter_context(_silent(url, headers)) for _ in range(MOST_VIEWERS - 1)]
        assert await asyncio.to_thread(frames, 5) == 5
        silent.append(stack.enter_context(_silent(url, headers)))
        assert await asyncio.to_thread(frames, 1) == 0
        assert pair.controller.get("/health")
    await eventually(lambda: frames(1) == 1, 10, "the viewers that left make room")


def _silent(url: str, headers: dict[str, str]) -> socket.socket:
    """A viewer that asks, sees that it is let in, and reads no more."""
    address = urlsplit(url)
    viewer = socket.create_connection((address.hostname or "", address.port or 80), timeout=10)
    fields = {"Host": address.netloc, **headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    viewer.sendall(f"GET /v1/live HTTP/1.1\r\n{lines}\r\n".encode())
    assert viewer.recv(12) == b"HTTP/1.1 200"
    return viewer


def _loads_all_from_its_controller(browser: Browser, url: str) -> None:
    asked = browser.run("return performance.getEntriesByType('resource').map(each => each.name)")
    assert len(asked) >= 8
    assert [each for each in asked if not each.startswith((url, "data:"))] == []


def _fits(browser: Browser) -> None:
    for width, scheme in ((400, "dark"), (2000, "light")):
        browser.look(width, scheme)
        browser.until(
            lambda width=width: browser.run("return document.documentElement.scrollWidth") <= width,
            5,
            f"the page fits {width} pixels",
        )
        dark = browser.run("return getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
        assert dark == (scheme == "dark")
        assert browser.run(HIDDEN) == [], "no queue lies on a name"


async def _shows_a_transfer(lab: Lab, browser: Browser) -> None:
    session = lab.session()

    def have() -> int:
        """The packets that h2 has in order."""
        found = re.search(r"h2, receiver\|[^\d]*([\d,]+)", browser.text("#view-Sessions td"))
        return int(found[1].replace(",", "")) if found else 0

    async with lab.transfer(session, lab.file(6 * MIB), sender="h1", receivers=["h2"]) as transfer:
        await asyncio.to_thread(browser.until, lambda: have() > 0, 10, "the transfer has begun")
        first = have()
        await asyncio.to_thread(browser.until, lambda: have() > first, 10, "the transfer goes on")
        assert browser.run("return document.querySelectorAll('.tree').length") == 3, (
            "the tree's links are lit"
        )
        (await transfer.outcome()).assert_everyone_has_it()


def _shows_a_queue_that_grows(lab: Lab, browser: Browser) -> None:
    """20 Mbit/s for a link of 8."""

    def waiting() -> int:
        titles = browser.text(".link title")
        found = re.search(r"s1 to s2: [^|]*?, (\d+) packets wait", titles)
        assert found, titles
        return int(found[1])

    browser.until(lambda: waiting() == 0, 10, "the queue of the transfer is empty")
    flood = subprocess.Popen([*lab.network.hosts["h1"].launcher(), sys.executable, "-c", FLOOD])
    try:
        browser.until(lambda: waiting() > 30, 10, "a queue before the narrow link")
        browser.show("Switches")
        browser.until(lambda: "queue full" in browser.text("#view-Switches"), 10, "the drops, by reason")
    finally:
        flood.kill()
        flood.wait()


def _obeys_the_keyboard(browser: Browser) -> None:
    """From the map to a switch's view, and on through the tabs."""
    browser.run("document.querySelector('.node[aria-label^=\"switch s1\"]').focus()")
    browser.press("\ue014")  # right
    assert browser.run("return document.activeElement.getAttribute('aria-label')") == "switch s2, up"
    browser.press("\ue007")  # enter
    assert browser.run("return document.activeElement.id") == "tab-Switch"
    assert browser.run("return document.querySelector('#view-Switch select').value") == "s2"
    browser.press("\ue011")  # home
    assert browser.run("return document.activeElement.id") == "tab-Sessions"
    browser.show("Switch")
    browser.run("document.querySelector('#view-Switch button').click()")
    browser.until(lambda: "port_in" in browser.text("#view-Switch td"), 5, "the counters of s2")


def _traces_a_packet(lab: Lab, browser: Browser) -> None:
    """The switch's view is that of s2."""
    ping = (*lab.network.hosts["h1"].launcher(), "ping", "-i", "0.2", "10.0.2.1")
    with subprocess.Popen(ping, stdout=subprocess.DEVNULL) as pinging:
        try:
            browser.run("document.querySelector('#view-Switch form input').value = 'ipv4.protocol=1'")
            browser.run("document.querySelector('#view-Switch form button').click()")
            browser.until(lambda: "ipv4_route (ipv4_dst = " in browser.text(".trace li"), 10, "the steps")
            assert browser.text(".trace details p").endswith("sent")
        finally:
            pinging.kill()


def _shows_a_killed_switch(lab: Lab, browser: Browser) -> None:
    lab.network.switches["s2"].daemon.kill()
    killed = time.monotonic()
    browser.until(lambda: "switch s2, lost" in _labels(browser), 2.0, "the killed switch is shown as lost")
    assert time.monotonic() - killed < 2.0
    assert "1 of 2" in browser.text("#facts")


def _labels(browser: Browser) -> str:
    return browser.run("return [...document.querySelectorAll('.node')].map(e => e.ariaLabel).join('|')")
