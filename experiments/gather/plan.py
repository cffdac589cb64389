"""The parts of the experiment: the paper's two models, and studies."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from experiments.gather import claims
from groupflow.study.drawing import line as look
from groupflow.study.drawing import save, subplots
from groupflow.study.experiment import AnyStudy
from papers.sakajiri import over_links
from papers.sakajiri.figures import SHOWN, line, targets
from papers.sakajiri.outcome import SIMULATION, Outcomes
from papers.sakajiri.paper import FULL, NAMES, QUICK, Case, Method, Run, Scale, Tcp
from papers.sakajiri.studies import START, THRESHOLDS
from papers.sakajiri.studies import STUDIES as SIMULATED

COMPRESSED = Scale(50.0, (12.0, 38.0), 4.0)
"""a whole run in less than a minute, with fewer losses to learn from"""
STUDY = QUICK
"""durations of everything beyond the paper: 120 s"""
TCPS: tuple[Tcp, ...] = ("reno", "cubic")
"""congestion controls of the kernel"""
MODELS: dict[str, tuple[Method, ...]] = {
    "model-1": ("both", "comparison", "kernel-1"),
    "model-2": ("both", "buffer", "comparison", "kernel-1", "climber"),
    "model-2-bbr": ("both", "buffer", "comparison"),
}
"""the policies of each of the paper's models, of which the second is run with BBR, too; Model 2 before its
interference is the same as Model 1"""
QUICK_MODELS: dict[str, tuple[Method, ...]] = {
    "model-1": ("both", "comparison"),
    "model-2": ("both", "buffer", "comparison"),
    "model-2-bbr": ("both", "buffer", "comparison"),
}
RANGE: dict[str, tuple[float, ...]] = {
    "rtt_ms": (60, 100, 150),
    "bottleneck_mbps": (8, 10, 15),
    "queue": (20, 50, 100),
    "high_loss": (0, 0.001, 0.003, 0.01),
    "rivals": (2, 4, 8),
}
"""a part of netsim's values, because each value is four runs in real time"""
QUICK_RANGE: dict[str, tuple[float, ...]] = {"rivals": (4, 8)}


def _model(name: str) -> AnyStudy:
    """A model of the paper: its policies, with each of the kernel's congestion controls."""
    interference = name != "model-1"

    def runs(quick: bool, seed: int) -> list[Run]:
        methods, tcps = (QUICK_MODELS[name], TCPS[:1]) if quick else (MODELS[name], TCPS)
        tcps = ("bbr",) if name == "model-2-bbr" else tcps
        cases = [Case(method, tcp, interference) for tcp in tcps for method in methods]
        return _runs(cases, COMPRESSED if quick else FULL, seed)

    judge = claims.model_2 if interference else claims.model_1
    return SIMULATION.study(name, f"{name} of the paper", runs, judge, partial(_draw_model, name))


def _study(simulated: AnyStudy) -> AnyStudy:
    """A study that the reproduction in netsim has, too, by the same rules."""

    def runs(quick: bool, seed: int) -> list[Run]:
        cases = [run.case for run in simulated.runs(quick, seed)]
        if simulated is over_links.STUDY:
            cases = range_cases(QUICK_RANGE if quick else RANGE)
        return _runs(cases, COMPRESSED if quick else STUDY, seed)

    return replace(simulated, runs=runs)


def range_cases(values: dict[str, tuple[float, ...]]) -> list[Case]:
    """Cases in which one parameter at a time varies."""
    chosen = [over_links.links(parameter, value) for parameter in values for value in values[parameter]]
    return [over_links.case(name, links) for links in chosen for name in over_links.CASES]


def _runs(cases: Iterable[Case], scale: Scale, seed: int) -> list[Run]:
    return [Run(case, seed, scale) for case in dict.fromkeys(cases)]


def _draw_model(name: str, path: Path, found: Outcomes) -> None:
    tcps = list(dict.fromkeys(case.tcp for case in found))
    methods = list(dict.fromkeys(case.method for case in found))
    drawing, axes = subplots(
        len(methods), len(tcps), figsize=(4.4 * len(tcps), 2.2 * len(methods)), sharex=True, sharey=True,
        squeeze=False,
    )  # fmt: skip
    for case, outcomes in found.items():
        axis = axes[methods.index(case.method)][tcps.index(case.tcp)]
        for number, client in enumerate(SHOWN):
            line(axis, outcomes[0], (client,), f"Terminal {client[1]}", **look(number))
        targets(axis, outcomes[0])
        axis.set_title(f"{NAMES[case.method]}, {case.tcp}")
        axis.label_outer()
    axes[0][0].legend(ncols=2)
    drawing.suptitle(f"{name.replace('-', ' ').capitalize()}, kernel TCP under Mininet")
    save(drawing, path)


PAPERS = [_model(name) for name in MODELS]
STUDIES = [*PAPERS, *(_study(each) for each in SIMULATED if each not in (START, THRESHOLDS))]
"""netsim's but for those with TCPs that this kernel lacks, and with gamma and xi, which the server keeps"""
