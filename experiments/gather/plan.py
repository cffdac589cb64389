"""The parts of the experiment: the paper's two models, and studies."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from experiments.gather import claims, figure
from experiments.gather.measured import Part
from groupflow.study import part
from groupflow.study.claims import Claim
from groupflow.study.paper import by_case
from papers.sakajiri.outcome import Outcomes, rows
from papers.sakajiri.paper import FULL, QUICK, Case, Method, Run, Scale, Tcp
from papers.sakajiri.studies import STUDIES as SIMULATED
from papers.sakajiri.studies import range as over_links
from papers.sakajiri.studies import start, thresholds

STUDIES = {name: each for name, each in SIMULATED.items() if name not in (start.NAME, thresholds.NAME)}
"""netsim's but for those with TCPs that this kernel lacks, and with gamma and xi, which the server keeps"""
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


def model(name: str, *, quick: bool, seed: int) -> Part:
    """A model of the paper: its policies, with each of the kernel's congestion controls."""
    methods, tcps = (QUICK_MODELS[name], TCPS[:1]) if quick else (MODELS[name], TCPS)
    tcps = ("bbr",) if name == "model-2-bbr" else tcps
    interference = name != "model-1"
    cases = [Case(method, tcp, interference) for tcp in tcps for method in methods]
    runs = _runs(cases, COMPRESSED if quick else FULL, seed)
    judge = claims.model_2 if interference else claims.model_1
    return _part(name, runs, judge, partial(figure.model, name))


def study(name: str, *, quick: bool, seed: int) -> Part:
    """A study that the reproduction in netsim has, too, by the same rules."""
    chosen = STUDIES[name]
    cases = [run.case for run in chosen.runs(quick, seed)]
    if name == over_links.NAME:
        cases = range_cases(QUICK_RANGE if quick else RANGE)
    runs = _runs(cases, COMPRESSED if quick else STUDY, seed)
    return _part(f"study-{name}", runs, chosen.judge, chosen.draw)


def range_cases(values: dict[str, tuple[float, ...]]) -> list[Case]:
    """Cases in which one parameter at a time varies."""
    chosen = [over_links.links(parameter, value) for parameter in values for value in values[parameter]]
    return [over_links.case(name, links) for links in chosen for name in over_links.CASES]


def _part(
    name: str,
    runs: list[Run],
    judge: Callable[[Outcomes], Iterable[Claim]],
    draw: Callable[[Path, Outcomes], None],
) -> Part:
    return part.Part(name, runs, by_case, judge, draw, rows)


def _runs(cases: Iterable[Case], scale: Scale, seed: int) -> list[Run]:
    return [Run(case, seed, scale) for case in dict.fromkeys(cases)]
