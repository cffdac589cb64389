"""`groupflow experiment bone`: a file to three rims, through P4 switches under Mininet and in netsim."""

from collections.abc import Generator, Sequence
from dataclasses import asdict
from statistics import fmean, pstdev
from typing import Any

from rich.table import Table

from experiments.bone import plan as planned
from experiments.bone import transfers
from experiments.bone.plan import Comparison, Plan, Transfer
from groupflow.study.experiment import Experiment, Findings, Frame, Study


def measure(frame: Frame[Transfer]) -> Generator[Transfer]:
    (plan,) = frame.runs
    for transfer in transfers.send(plan, frame.options.out / "runs", frame.lagging):
        frame.console.print(f"{transfer.case.title}: {transfer.seconds:.1f} s, {transfer.again:.0%} again")
        yield transfer
    yield from transfers.simulate(plan)


def compare(plan: Plan, transfers: Sequence[Transfer]) -> list[Comparison]:
    """Means of the cases that were run in both places."""
    found: list[Comparison] = []
    for case in plan.cases:
        kernel, netsim = (
            [each for each in transfers if each.case == case and each.where == where]
            for where in ("kernel", "netsim")
        )
        if kernel and netsim:
            seconds = [[each.seconds for each in runs] for runs in (kernel, netsim)]
            again = [[each.again for each in runs] for runs in (kernel, netsim)]
            for quantity, (real_runs, simulated_runs) in (("seconds", seconds), ("again", again)):
                means = fmean(real_runs), fmean(simulated_runs)
                found.append(Comparison(case, quantity, *means, len(real_runs), pstdev(simulated_runs)))
    return found


def find(frame: Frame[Transfer], transfers: Sequence[Transfer]) -> Findings:
    plan: Plan = frame.runs[0]
    compared = compare(plan, transfers)
    form: dict[str, Any] = {
        "size": plan.size,
        "transfers": [asdict(each) for each in transfers],
        "beside_netsim": [
            asdict(each) | {"difference": each.difference, "plausible": each.plausible} for each in compared
        ],
        "cpu_bound": frame.lagging,
    }
    table = Table("sent", "quantity", "real packets", "netsim", "a run's spread", "differs by")
    for each in compared:
        apart = "" if each.plausible else f"{each.difference:+.0%}"
        figures = (f"{each.kernel:.2f}", f"{each.netsim:.2f}", f"{each.spread:.2f}")
        table.add_row(each.case.title, each.quantity, *figures, apart)
    near = sum(each.plausible for each in compared)
    summary = f"within two standard errors of netsim: {near} of {len(compared)}"
    return Findings({"results.json": form}, form, [table, summary])


EXPERIMENT = Experiment(
    "files to three caches in rounds, over a satellite link between P4 switches",
    [
        Study(
            "bone",
            "each way to send, on real packets and in netsim",
            lambda quick, seed: [planned.quick(seed) if quick else planned.full(seed)],
        )
    ],
    takes=("quick", "seed"),
    measure=measure,
    find=find,
)
