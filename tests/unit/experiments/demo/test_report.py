"""report.json has all that was measured; report.html shows it, by itself, on any screen."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from experiments.demo import page
from experiments.demo.results import Report
from tests.unit.experiments.demo import canned


def as_json(report: Report) -> Any:
    return json.loads(json.dumps(report.to_json()))


def test_the_json_has_all_runs() -> None:
    form = as_json(canned.report(2))
    assert {"parameters", "runs", "notes", "cpu_bound", "problems"} == form.keys()
    assert [run["loss"] for run in form["runs"]] == [0, 0.01]
    for run in form["runs"]:
        links = run["group"]["links"]
        directions = [(link["source"], link["target"]) for link in links]
        assert len(directions) == len(set(directions)) == 2 * len(canned.topology(2).links)
        assert run["receivers"][0]["series"][-1][1] <= canned.SIZE
    assert form["cpu_bound"] is False and form["problems"] == []


@pytest.mark.slow
def test_a_receiver_that_failed_is_named_with_the_reason() -> None:
    bad = replace(canned.receiver("mb1"), error="SHA-256 differs: 00... instead of ab...", seconds=None)
    report = canned.changed(canned.report(1), receivers=(bad, canned.receiver("mc1")))
    report = canned.changed(report, group=replace(report.runs[0].group, seconds=None))
    assert report.problems() == ["mb1: SHA-256 differs: 00... instead of ab..."]
    html = page.render(report, canned.topology(1))
    assert "failed" in html and "SHA-256 differs" in html and "not completed" in html


@pytest.mark.parametrize("where", ["group", "tcp"])
def test_a_cpu_bound_switch_fails_the_run(where: str) -> None:
    report = canned.report(1)
    bound = replace(getattr(report.runs[0], where), health=canned.BUSY)
    report = canned.changed(report, **{where: bound})
    (problem,) = report.problems()
    name = "groupflow" if where == "group" else "TCP"
    assert problem.startswith(f"CPU-bound: s1 could not keep its schedule with {name}, no loss")
    assert as_json(report)["cpu_bound"] is True


class References(HTMLParser):
    """Collects everything a browser would fetch, and checks that tags nest."""

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


@pytest.mark.slow
@pytest.mark.parametrize("members", [1, 5])
def test_the_page_is_whole_and_fetches_nothing(members: int) -> None:
    html = page.render(canned.report(members), canned.topology(members))
    reader = References()
    reader.feed(html)
    assert reader.open == []
    assert reader.fetched == []
    assert not re.search(r"url\((?!#)|@import", html)


@pytest.mark.slow
def test_the_page_shows_every_run_receiver_and_agent() -> None:
    report = canned.report()
    html = page.render(report, canned.topology())
    reader = References()
    reader.feed(html)
    shown = " ".join(reader.texts)
    for run in report.runs:
        for each in run.receivers:
            assert f"{each.seconds:.2f} s · {each.repaired_packets}" in shown
    repaired = "6,450 packets repaired at receivers, by 1,742 repairs of caches; 25 asked of the sender"
    assert repaired in " ".join(shown.split())
    assert "15.78×" in shown and "543 refused, 9,876 lost" in shown and "sa2" in shown
    assert "TCP got 19 MiB instead of 64 MiB" in shown and "mc1–5" in shown
    # One drawing for wide screens and one for phones; colours are the style sheet's, light or dark.
    assert html.count('<svg class="wide"') == html.count('<svg class="narrow"') == 3
    assert "prefers-color-scheme: dark" in shown
    drawn = html[html.index("<svg") : html.rindex("</svg>")]
    assert set(re.findall(r"(?:fill|stroke): (?!none|var)([^;\"]+)", drawn)) <= {"#000000"}


@pytest.mark.slow
def test_names_from_outside_are_escaped() -> None:
    report = canned.report(1)
    report = replace(report, parameters=replace(report.parameters, file="<script>alert(1)</script>"))
    assert "<script>" not in page.render(report, canned.topology(1))


@pytest.mark.slow
def test_a_run_without_tcp_has_a_page_too() -> None:
    report = canned.report(1)
    report = replace(report, runs=tuple(replace(run, tcp=None) for run in report.runs))
    html = page.render(report, canned.topology(1))
    assert "TCP, one connection" not in html and "groupflow, 1 % loss" in html
