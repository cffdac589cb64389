"""report.json has the agreed form; report.html shows the same, by itself."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from experiments.demo import page
from experiments.demo.results import Report
from groupflow.lab.measure import SwitchHealth
from tests.unit.experiments.demo import canned


def as_json(report: Report) -> Any:
    return json.loads(json.dumps(report.to_json()))


def test_the_json_has_the_agreed_fields() -> None:
    form = as_json(canned.report())
    agreed = {"file_bytes", "mode", "loss", "switch", "receivers", "links", "agents", "baseline", "cpu_bound"}
    assert agreed <= set(form)
    fields = {
        "receivers": {"name", "ok", "seconds", "goodput_bps", "repaired_packets"},
        "links": {"name", "from", "to", "bytes", "copies"},
        "agents": {"name", "cache_peak_bytes", "repairs"},
    }
    for key, names in fields.items():
        items = form[key]
        assert items
        assert all(names <= set(item) for item in items)
    assert {"file_bytes", "seconds", "links"} <= set(form["baseline"])
    assert form["cpu_bound"] is False


def test_every_direction_of_every_link_is_there_once() -> None:
    links: list[dict[str, str]] = as_json(canned.report(2))["links"]
    directions = [(link["from"], link["to"]) for link in links]
    assert len(directions) == len(set(directions)) == 2 * len(canned.topology(2).links)


def test_a_good_run_has_no_problems() -> None:
    assert canned.report().problems() == []


def test_a_receiver_that_failed_is_named_with_the_reason() -> None:
    bad = canned.receiver("mb1", ok=False, error="SHA-256 differs: 00... instead of ab...")
    report = canned.report(1, receivers=(bad, canned.receiver("mc1")))
    assert report.problems() == ["mb1: SHA-256 differs: 00... instead of ab..."]
    html = page.render(report, canned.topology(1))
    assert "failed" in html and "SHA-256 differs" in html


@pytest.mark.parametrize("where", ["transfer", "baseline"])
def test_a_cpu_bound_switch_fails_the_run(where: str) -> None:
    bound = (SwitchHealth("s1", True, "99 % of packets left within 30 ms"),)
    report = canned.report(1)
    if where == "transfer":
        report = replace(report, health=bound)
    else:
        assert report.baseline is not None
        report = replace(report, baseline=replace(report.baseline, health=bound))
    (problem,) = report.problems()
    assert problem.startswith("CPU-bound: s1") and where in problem
    assert as_json(report)["cpu_bound"] is True


def test_the_slowest_receiver_counts_and_one_that_never_finished_leaves_no_time() -> None:
    fast, slow = canned.receiver("mb1", seconds=5.0), canned.receiver("mc1", seconds=7.0)
    never = canned.receiver("md1", seconds=None, ok=False, error="sender lost")
    assert canned.report(1, receivers=(fast, slow)).slowest_seconds == 7.0
    report = canned.report(1, receivers=(fast, slow, never))
    assert report.slowest_seconds is None
    assert "not completed" in page.render(report, canned.topology(1))


class References(HTMLParser):
    """Collects everything a browser would fetch, and checks that tags nest."""

    VOID = frozenset({"meta", "br", "line", "rect", "path", "polyline"})

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.open: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetched += [f"{tag}.{name}" for name, _ in attrs if name in ("src", "href", "srcset", "data")]
        if tag in ("script", "link", "iframe", "img"):
            self.fetched.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize("members", [1, 3, 5])
def test_the_page_is_whole_and_fetches_nothing(members: int) -> None:
    html = page.render(canned.report(members), canned.topology(members))
    reader = References()
    reader.feed(html)
    assert reader.open == []
    assert reader.fetched == []
    assert not re.search(r"url\(|@import", html)


def test_the_page_shows_every_link_receiver_and_agent() -> None:
    report, topology = canned.report(), canned.topology()
    reader = References()
    reader.feed(page.render(report, topology))
    shown = " ".join(reader.texts)
    for use in report.links:
        assert f"{use.source} to {use.target}: {use.bytes:,} bytes" in shown
    for receiver in report.receivers:
        assert f"{receiver.name}: complete after {receiver.seconds:.2f} s" in shown
    for agent in report.agents:
        assert agent.name in shown
    assert "TCP got 47 MiB instead of 64 MiB" in shown
    assert "prefers-color-scheme: dark" in shown and "@media print" in shown


def test_names_from_outside_are_escaped() -> None:
    report = canned.report(1)
    report = replace(report, parameters=replace(report.parameters, file="<script>alert(1)</script>"))
    assert "<script>" not in page.render(report, canned.topology(1))


def test_a_run_without_a_baseline_has_a_page_too() -> None:
    report = canned.report(1, baseline=None)
    assert as_json(report)["baseline"] is None
    assert "The baseline was not run" in page.render(report, canned.topology(1))


def test_downstream_links_are_grouped_from_the_sender_on() -> None:
    groups = page.downstream(canned.topology(2), "ma1")
    assert [label for label, _ in groups] == [
        "ma1 → s1",
        "s1 → s2",
        "s1 → network b (2 links)",
        "s2 → network c (2 links)",
        "s2 → network d (2 links)",
    ]
    assert dict(groups)["s2 → network d (2 links)"] == [("s2", "md1"), ("s2", "md2")]
