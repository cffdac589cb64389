"""The largest TCP window, which the paper does not give, and its effect on the influence of the delay.

The rule: a window explains the paper's words if at every load reception over 100 ms is nine tenths at least
of that over 10 ms (little impact of the delay), or of the load (in proportion to it).
"""

from collections.abc import Iterator
from pathlib import Path

from groupflow.study.claims import Claim, finding
from groupflow.study.drawing import save, subplots
from papers.icn2011.claims import PAYLOAD_MBPS, TENTH
from papers.icn2011.figures import LOOKS, curve
from papers.icn2011.outcome import SIMULATION, Points, runs
from papers.icn2011.paper import DELAYS_MS, NAMES, SPLIT, WINDOW, Case, Method, high_loads

NAME = "window"
WINDOWS = (100, 300, 1000, 2100, WINDOW)
"""packets; 2,100 fill the links between a sender and the farthest member, there and back, at 100 ms"""
QUICK_WINDOWS = (100, WINDOW)


def _cases(quick: bool) -> list[Case]:
    return [
        _case(method, load, delay, window)
        for method in SPLIT
        for load in high_loads(quick)
        for delay in DELAYS_MS
        for window in (QUICK_WINDOWS if quick else WINDOWS)
    ]


def _case(method: Method, load: float, delay: int, window: int) -> Case:
    return Case(method, load, members=1, delay_ms=delay, window=window)


def _judge(points: Points) -> Iterator[Claim]:
    windows = sorted({case.window for case in points})
    loads = sorted({case.load for case in points})
    near, far = DELAYS_MS
    for method in SPLIT:

        def received(load: float, delay: int, window: int, method: Method = method) -> float:
            return points[_case(method, load, delay, window)].mean.reception_mbps

        impact = {
            w: min(received(load, far, w) / max(received(load, near, w), 1e-9) for load in loads)
            for w in windows
        }
        share = {w: min(received(load, far, w) / (load * PAYLOAD_MBPS) for load in loads) for w in windows}
        name = NAMES[method]
        for key, claim, values, unit in (
            ("delay", f"{name}: the delay has little impact", impact, f"{far} ms over {near} ms"),
            ("load", f"{name}, {far} ms: reception in proportion to the load", share, "of the load"),
        ):
            good = [w for w in windows if values[w] >= 1 - TENTH]
            listed = ", ".join(f"{w}: {values[w]:.2f}" for w in windows)
            note = (
                f"at least {1 - TENTH:g} at every load, of {loads[0]:g} to {loads[-1]:g}; by window, {listed}"
            )
            yield finding(
                NAME, f"{method}-{key}", f"{claim}, at some window", max(values.values()),
                f"{unit}, the best window", bool(good), note,
            )  # fmt: skip


def _draw(path: Path, points: Points) -> None:
    """Draws reception throughput at the highest load."""
    windows = sorted({case.window for case in points})
    load = max(case.load for case in points)
    figure, axis = subplots(figsize=(5.6, 4.0))
    for method in SPLIT:
        for delay in DELAYS_MS:
            cases = [_case(method, load, delay, window) for window in windows]
            label, dashed = f"{NAMES[method]} ({delay} ms)", delay != DELAYS_MS[0]
            curve(axis, points, cases, lambda i: i.reception_mbps, label, LOOKS[method], dashed=dashed,
                  over=lambda case: case.window)  # fmt: skip
    axis.set(xscale="log", xlabel="largest window [packets]", ylabel="Reception throughput [Mb/s]")
    axis.set(ylim=(0, 104), title=f"Load {load:g}, 3 members")
    axis.legend(fontsize="x-small")
    save(figure, path)


STUDY = SIMULATION.beyond(NAME, "the largest TCP window", runs(_cases), _judge, _draw)
