"""The results of a sweep: all runs, a summary with confidence intervals, plots."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from rich.table import Table

from groupflow.study.drawing import marked, save, subplots
from groupflow.study.experiment import Findings
from groupflow.study.files import Row, whole, write_rows
from groupflow.study.sweep.form import METRICS, OF_NETWORK, Metric, Run, Sweep, Value, quantity

_MOST_PANELS = 4
"""with more flows, tables and plots show the mean of a run's flows"""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run: rows of metrics, one for each flow; or its error, one line."""

    key: str
    name: str
    rows: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    error: str = ""
    cpu_bound: str = ""
    """the switches that lagged: the figures are about the machine"""


@dataclass(frozen=True)
class Point:
    """A metric at one value of each parameter, over the seeds."""

    values: tuple[Value, ...]
    flow: str
    runs: int
    mean: float
    half: float
    """of the confidence interval: it is mean - half to mean + half; NaN of one run"""


def missing() -> str:
    """A line on what will not be written, as a package is not installed; empty where all is."""
    without = {"pyarrow": "no results.parquet", "matplotlib": "no plots"}
    lacking = [f"without {name}: {what}" for name, what in without.items() if find_spec(name) is None]
    return f"{'; '.join(lacking)} (pip install 'groupflow[experiments]')" if lacking else ""


def write(asked: Sweep, done: Sequence[tuple[Run, Outcome]], out: Path) -> Findings:
    """Writes all files, and shows the metrics of `show`. Runs that failed are only in the file of all
    runs."""
    _write_runs(asked, done, out)
    good = [(run, outcome) for run, outcome in done if not outcome.error]
    rows: list[Row] = [
        dict(zip(asked.form.vary, point.values, strict=True))
        | {"flow": point.flow, "metric": metric, "unit": METRICS[metric], "runs": point.runs}
        | {"mean": point.mean, "low": point.mean - point.half, "high": point.mean + point.half}
        for metric in METRICS
        for point in points(asked, good, metric, each=True)
    ]
    # The bounds of one run are NaN: they were not measured.
    told = [{name: None if cell != cell else cell for name, cell in row.items()} for row in rows]
    if not rows:
        return Findings({}, told, [])
    write_rows(out / "summary.csv", told)
    shown: list[Table] = []
    for metric in asked.form.show:
        found = points(asked, good, metric)
        shown.append(_table(asked, metric, found))
        if find_spec("matplotlib"):
            _plot(asked, metric, found, out / f"{metric}.png")
    return Findings({}, told, shown)


def points(
    asked: Sweep, done: Sequence[tuple[Run, Outcome]], metric: Metric, *, each: bool = False
) -> list[Point]:
    """One for each value of the parameters and each flow, or for the mean of a run's flows, if there are
    many."""
    names = dict.fromkeys(row.get("flow") or "" for _, outcome in done for row in outcome.rows)
    together = f"mean of {len(names)} flows" if len(names) > _MOST_PANELS and not each else ""
    found: dict[tuple[tuple[Value, ...], str], list[float]] = {}
    for run, outcome in done:
        of_run: dict[str, list[float]] = {}
        for row in outcome.rows:
            if (value := row.get(metric)) is not None:
                flow = "all" if metric in OF_NETWORK else together or row.get("flow") or ""
                of_run.setdefault(flow, []).append(value)
        for flow, measured in of_run.items():
            found.setdefault((run.values, flow), []).append(fmean(measured))
    return [
        Point(values, flow, len(each), fmean(each), half_interval(each, asked.form.confidence))
        for (values, flow), each in found.items()
    ]


def half_interval(values: Sequence[float], confidence: float) -> float:
    """Half of the confidence interval of the mean, by Student's t."""
    if len(values) < 2:
        return math.nan
    low, high = 0.0, 1e12
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, len(values) - 1) < confidence else (low, middle)
    return high * stdev(values) / math.sqrt(len(values))


def _within(t: float, freedom: int) -> float:
    """P(|T| < t) of Student's distribution (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(freedom))
    term, total = (math.cos(angle), 0.0) if freedom % 2 else (1.0, 0.0)
    for at in range(1 + freedom % 2, freedom, 2):
        total += term
        term *= math.cos(angle) ** 2 * at / (at + 1)
    if freedom % 2:
        return 2 / math.pi * (angle + math.sin(angle) * total)
    return math.sin(angle) * total


def _write_runs(asked: Sweep, done: Sequence[tuple[Run, Outcome]], out: Path) -> None:
    rows = list(_rows(asked, done))
    parameters = {name: _unit(values) for name, values in asked.form.vary.items()}
    words = ("where", "run", "seed", "state", "error", "flow")
    whole_row: Row = dict.fromkeys((*words, *parameters, *METRICS))
    write_rows(out / "results.csv", [{**whole_row, **row} for row in rows])
    if find_spec("pyarrow") is None:
        return
    pyarrow: Any = import_module("pyarrow")
    parquet: Any = import_module("pyarrow.parquet")
    kinds = dict.fromkeys(words, pyarrow.string()) | {"seed": pyarrow.uint64()}
    columns: list[tuple[str, Any, str]] = [(name, kind, "") for name, kind in kinds.items()]
    for name, unit in parameters.items():
        columns.append((name, pyarrow.string() if unit is None else pyarrow.float64(), unit or ""))
    columns += [(name, pyarrow.float64(), unit) for name, unit in METRICS.items()]
    schema = pyarrow.schema(
        [pyarrow.field(name, kind, metadata={"unit": unit} if unit else None) for name, kind, unit in columns]
    )
    with whole(out / "results.parquet") as part:
        parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), part)


def _rows(asked: Sweep, done: Sequence[tuple[Run, Outcome]]) -> Iterator[dict[str, Any]]:
    """A row for each flow of each run; one for a run that failed."""
    for run, outcome in done:
        state = "failed" if outcome.error else "cpu-bound" if outcome.cpu_bound else "finished"
        facts: dict[str, Any] = {"where": run.where, "run": run.key, "seed": run.seed, "state": state}
        facts |= {"error": outcome.error or outcome.cpu_bound or None}
        for (name, every), value in zip(asked.form.vary.items(), run.values, strict=True):
            facts[name] = str(value) if _unit(every) is None else _number(value)
        for row in outcome.rows or [{}]:
            yield facts | row


def _unit(values: Sequence[Value]) -> str | None:
    """The unit of a parameter; None if its values are words, or of several units."""
    found = {None if (read := quantity(value)) is None else read[1] for value in values}
    return found.pop() if len(found) == 1 else None


def _number(value: Value) -> float:
    read = quantity(value)
    return math.nan if read is None else read[0]


def _table(asked: Sweep, metric: Metric, found: Sequence[Point]) -> Table:
    about = f"{metric}, {METRICS[metric]}, with {asked.form.confidence:.0%} confidence"
    table = Table(*asked.form.vary, "flow", title=about, title_justify="left")
    for name in ("runs", "mean", "±"):
        table.add_column(name, justify="right")
    for point in found:
        figures = (
            str(point.runs),
            f"{point.mean:.6g}",
            "-" if math.isnan(point.half) else f"{point.half:.2g}",
        )
        table.add_row(*map(str, point.values), point.flow, *figures)
    if not found:
        table.caption, table.caption_justify = "not measured in these runs", "left"
    return table


def _plot(asked: Sweep, metric: Metric, found: Sequence[Point], path: Path) -> None:
    """A panel for each flow, and a line for each value of the parameters that are not the horizontal axis."""
    varied = [
        name for name, values in asked.form.vary.items() if len(values) > 1 and _unit(values) is not None
    ]
    if not varied:
        return
    x = asked.form.x or varied[0]
    at, unit = list(asked.form.vary).index(x), _unit(asked.form.vary[x])
    flows = list(dict.fromkeys(point.flow for point in found)) or ["not measured"]
    figure, axes = subplots(1, len(flows), figsize=(1.5 + 4.5 * len(flows), 4.0), squeeze=False, sharey=True)
    for axis, flow in zip(axes[0], flows, strict=True):
        lines: dict[str, list[Point]] = {}
        for point in found:
            others = [f"{n}={v}" for n, v in zip(asked.form.vary, point.values, strict=True) if n != x]
            if point.flow == flow:
                lines.setdefault(", ".join(others), []).append(point)
        for number, (label, line) in enumerate(lines.items()):
            xs = [point.values[at] if unit is None else _number(point.values[at]) for point in line]
            bars = [0.0 if math.isnan(point.half) else point.half for point in line]
            means = [point.mean for point in line]
            axis.errorbar(xs, means, bars, label=label, capsize=3, **marked(number))
        axis.set_title(flow)
        axis.set_xlabel(f"{x} ({unit})" if unit not in (None, "1") else x)
        if len(lines) > 1:
            axis.legend()
    axes[0, 0].set_ylabel(f"{metric} ({METRICS[metric]})")
    save(figure, path)
