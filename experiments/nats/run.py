"""`groupflow experiment nats`: of twenty subscribers one is slow and one is killed."""

import asyncio
from collections.abc import Generator, Sequence
from dataclasses import asdict
from statistics import median

from rich.table import Table

from experiments.nats import systems
from experiments.nats.measure import Outcome, measure
from groupflow.files import variants
from groupflow.lab.controller_process import ControllerProcess
from groupflow.lab.measure import HealthCheck
from groupflow.lab.network import Network, running
from groupflow.study.experiment import Experiment, Findings, Frame
from groupflow.study.options import ExperimentOptions

SYSTEMS = {"tree": systems.tree, "nats-server": systems.nats}
SUBSCRIBERS = tuple(f"h{number}" for number in range(1, 21))
SLOW = "h20"
RATES_BPS = (4_000_000, 16_000_000)
"""below and above what a link of 100 Mbit/s has for each of twenty"""


def run(options: ExperimentOptions) -> None:
    frame = Frame[Outcome](options)
    frame.run(_outcomes(frame), find)


def _outcomes(frame: Frame[Outcome]) -> Generator[Outcome]:
    runs, seconds, rates = (1, 6.0, RATES_BPS[:1]) if frame.options.quick else (3, 30.0, RATES_BPS)
    logs = frame.options.out / "logs"
    with running(variants.named("fan"), logs) as network:
        ControllerProcess(network, logs).start()
        for rate in rates:
            for _ in range(runs):
                for name in SYSTEMS:
                    health = HealthCheck(network)
                    outcome = asyncio.run(one(network, name, rate, seconds))
                    frame.console.print(_line(outcome))
                    frame.lagging += health.lagging()
                    yield outcome


def find(outcomes: Sequence[Outcome]) -> Findings:
    form = [asdict(each) for each in outcomes]
    return Findings({"outcomes.json": form}, form, [_table(outcomes)])


async def one(
    network: Network, name: str, rate_bps: int, seconds: float, subscribers: Sequence[str] = SUBSCRIBERS
) -> Outcome:
    """A run of one system. Raises RunError, ClientError."""
    return await measure(name, SYSTEMS[name](network, subscribers), rate_bps, seconds, SLOW)


def _line(outcome: Outcome) -> str:
    return (
        f"{outcome.system}, {outcome.rate_bps / 1e6:.0f} Mbit/s: {outcome.goodput_bps / 1e6:.2f} Mbit/s,"
        f" {outcome.lost_share:.1%} lost, {outcome.repair_s * 1000:.0f} ms"
    )


def _table(outcomes: Sequence[Outcome]) -> Table:
    """Medians of the runs."""
    table = Table("offered, Mbit/s", "", "goodput", "least", "lost", "repair", "goodput of the slow one")
    for rate in sorted({outcome.rate_bps for outcome in outcomes}):
        for name in SYSTEMS:
            own = [o for o in outcomes if (o.rate_bps, o.system) == (rate, name)]
            if not own:  # interrupted before its first run
                continue
            table.add_row(
                f"{rate / 1e6:g}",
                name,
                f"{median(o.goodput_bps for o in own) / 1e6:.2f}",
                f"{median(o.worst_bps for o in own) / 1e6:.2f}",
                f"{median(o.lost_share for o in own):.1%}",
                f"{median(o.repair_s for o in own) * 1000:.0f} ms",
                f"{median(o.slow_bps for o in own) / 1e6:.2f}",
            )
    return table


EXPERIMENT = Experiment("one publisher and twenty subscribers, by a clustered tree and by nats-server", run)
