"""A demo on a machine that cannot keep up is run again at half the rate, and says so."""

import io
from collections.abc import Generator
from dataclasses import replace
from typing import cast

import pytest
from rich.console import Console

from experiments.demo.options import Options
from experiments.demo.results import Report
from experiments.demo.run import paced
from experiments.demo.scenario import Scenario
from tests.unit.experiments.demo import canned

MBIT = 1_000_000


class Machine:
    """Keeps up with links of up to so many bit/s."""

    def __init__(self, bearable: int) -> None:
        self.bearable = bearable
        self.runs: list[int | None] = []

    def scenario(self, options: Options, console: Console) -> Scenario:
        machine = self

        class Run:
            topology = options.topology()

            def run(self) -> Generator[Report]:
                machine.runs.append(options.rate)
                done = canned.report()
                rate = options.rate or done.parameters.rate_bps
                health = canned.HEALTHY if rate <= machine.bearable else canned.BUSY
                done = replace(done, parameters=replace(done.parameters, rate_bps=rate))
                yield canned.changed(done, group=replace(done.runs[0].group, health=health))

        return cast(Scenario, Run())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bearable", "runs", "problems"),
    [
        (100 * MBIT, [None], 0),
        (60 * MBIT, [None, 50 * MBIT], 0),
        (25 * MBIT, [None, 50 * MBIT, 25 * MBIT], 0),
        (1 * MBIT, [None, 50 * MBIT, 25 * MBIT], 1),
    ],
)
def test_half_the_rate_until_it_can(bearable: int, runs: list[int | None], problems: int) -> None:
    machine, screen = Machine(bearable), io.StringIO()
    ((report, _),) = paced(Options(), Console(file=screen), machine.scenario)
    assert machine.runs == runs
    assert len(report.problems()) == problems
    said = screen.getvalue().splitlines()
    assert len(said) == len(runs) - 1
    if said:
        assert said[0].startswith("CPU-bound: Links of 50mbit: at 100mbit the machine was too busy")
        assert report.notes[-1] in said[-1]


@pytest.mark.parametrize("options", [Options(rate=100 * MBIT), Options(switch="bmv2")])
def test_a_rate_that_was_asked_for_is_kept(options: Options) -> None:
    machine = Machine(1 * MBIT)
    ((report, _),) = paced(options, Console(file=io.StringIO()), machine.scenario)
    assert machine.runs == [options.rate]
    assert report.problems()
