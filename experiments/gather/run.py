"""`groupflow experiment gather`: Sakajiri et al. with kernel TCP under Mininet, and the same in netsim."""

from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any

from rich.console import RenderableType

from experiments.common.beside import shown as beside_netsim
from experiments.gather import beside, labs, plan
from experiments.gather.measured import LabOutcome
from groupflow.lab.network import check_rights
from groupflow.study.experiment import Experiment, Findings, Frame
from groupflow.study.frame import claims_of
from groupflow.study.report import shown
from papers.sakajiri.outcome import Outcome


def measure(frame: Frame[Outcome]) -> Generator[Outcome]:
    """Claims that do not hold are a result, not a failure."""
    check_rights()
    runs, jobs, out = frame.runs, frame.options.cores, frame.options.out
    with closing(labs.execute(runs, jobs, out / "logs", frame.console)) as outcomes:
        for outcome in outcomes:
            frame.take(outcome)
            frame.lagging += [f"{labs.title(outcome.run)}: {line}" for line in outcome.cpu_bound]
            yield outcome
    with closing(beside.simulate(runs, jobs, frame.console)) as simulated:
        yield from simulated


def find(frame: Frame[Outcome], measured: Sequence[Outcome]) -> Findings:
    """The findings of the real network's outcomes, and of netsim's."""
    real = [each for each in measured if isinstance(each, LabOutcome)]
    compared = beside.compare(real, [each for each in measured if not isinstance(each, LabOutcome)])
    claims, mistake = claims_of(frame)
    form: dict[str, Any] = {
        "claims": [claim.form() for claim in claims],
        "runs": [outcome_form(outcome) for outcome in real],
        "beside_netsim": [each.form() for each in compared],
    }
    tables: list[RenderableType] = [*beside_netsim(compared)] if compared else []
    tables += shown(claims)
    return Findings({"results.json": form}, form, tables, mistake=mistake)


def outcome_form(outcome: LabOutcome) -> dict[str, Any]:
    """One run: means of every client in each of its spans."""
    spans = beside.spans(outcome.run)
    return {
        **beside.case_form(outcome.run),
        "clients": {
            name: {"spans": {w or "whole": series.means(span(outcome)) for w, span in spans}}
            for name, series in outcome.series.items()
        },
        "interference_mbps": round(outcome.interference_mbps, 4),
        "buffer_peak_bytes": outcome.buffer_peak,
        "tunings_refused": list(outcome.refused),
        "packets_sent_by_switches": outcome.packet_hops,
        "wall_s": round(outcome.wall_s, 1),
        "cpu_bound": list(outcome.cpu_bound),
    }


EXPERIMENT = Experiment(
    "receiver-side tuning and kernel TCP, in the network of sakajiri",
    plan.STUDIES,
    default=lambda _: plan.PAPERS,
    takes=("only", "quick", "seed", "jobs"),
    measure=measure,
    find=find,
)
