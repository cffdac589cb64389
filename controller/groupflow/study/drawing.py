"""Figures: drawn without a display, saved whole. matplotlib is loaded when the first figure is drawn.

All figures have one look: the colours of Okabe and Ito, which people of any colour vision can tell apart,
each with a dash, a marker and a hatch of its own; text of at least 9 pixels where the page is `PAGE` wide.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any, TypeAlias

from groupflow.study.claims import ByValue
from groupflow.study.files import whole

Axes: TypeAlias = Any
"""matplotlib's axes; the types of matplotlib are too weak for a strict check"""

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#000000", "#f0e442")
PALE, GREY = "#bbbbbb", "#666666"
_DASHES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 3)), (0, (3, 1)))
_MARKERS = "osD^vPX*"
_HATCHES = ("", "///", "...", "\\\\\\", "xxx", "+++", "---", "ooo")
PAGE = 7.0
"""inches of a page's column: 700 pixels"""
DOTS_PER_INCH = 150
_FONT = 7.8
"""points; `small`, the smallest text, is 0.83 of it: 9 pixels"""
_STYLE: Mapping[str, Any] = {
    "axes.axisbelow": True, "axes.grid": True, "grid.alpha": 0.25, "hatch.linewidth": 0.6,
    "axes.titlesize": "medium", "figure.titlesize": "medium", "legend.fontsize": "small",
}  # fmt: skip


def line(number: int) -> dict[str, Any]:
    """The colour and the dash of one of several lines."""
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": _DASHES[number % len(_DASHES)]}


def marked(number: int) -> dict[str, Any]:
    """The colour and the marker of one of several rows of points."""
    place = number % len(COLOURS)
    return {"color": COLOURS[place], "marker": _MARKERS[place], "markersize": 4.5}


def bar(number: int) -> dict[str, Any]:
    """The colour and the hatch of one of several rows of bars."""
    place = number % len(COLOURS)
    return {"color": COLOURS[place], "hatch": _HATCHES[place], "edgecolor": "white", "linewidth": 0}


def subplots(
    rows: int = 1, columns: int = 1, *, figsize: tuple[float, float], **shared: Any
) -> tuple[Any, Any]:
    """A figure, and its axes in rows and columns; `shared`: further arguments for matplotlib."""
    figure = blank(figsize)
    return figure, figure.subplots(rows, columns, **shared)


@contextmanager
def panel(path: Path, figsize: tuple[float, float], **legend: Any) -> Generator[Axes]:
    """Axes for the block to draw on; then they get a legend, and are saved."""
    figure, axis = subplots(figsize=figsize)
    yield axis
    axis.legend(**legend)
    save(figure, path)


def blank(figsize: tuple[float, float], style: Mapping[str, Any] | None = None) -> Any:
    """A figure without axes; the size is in inches. `style`: settings of matplotlib that differ from ours."""
    matplotlib: Any = import_module("matplotlib")
    matplotlib.use("Agg")
    matplotlib.rcParams.update({**_STYLE, "font.size": _FONT * max(1.0, figsize[0] / PAGE), **(style or {})})
    return import_module("matplotlib.pyplot").figure(figsize=figsize, layout="constrained")


def save(figure: Any, path: Path) -> None:
    """Writes the figure as PNG, and releases it."""
    with whole(path) as part:
        figure.savefig(part, dpi=DOTS_PER_INCH, format="png")
    import_module("matplotlib.pyplot").close(figure)


def vector(figure: Any) -> str:
    """The figure as SVG, and releases it."""
    out = StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(out, format="svg", transparent=True, metadata=nothing)
    import_module("matplotlib.pyplot").close(figure)
    return out.getvalue()


def draw_verdicts(
    path: Path, verdicts: Mapping[str, Mapping[str, ByValue]], labels: Mapping[str, str]
) -> None:
    """Draws a panel per parameter, with a row per claim and a column per value: full where it holds."""
    count = len(verdicts)
    figure, axes = subplots(1, count, figsize=(3.0 + 1.4 * count, 3.6), sharey=True, squeeze=False)
    for axis, (parameter, claims) in zip(axes[0], verdicts.items(), strict=True):
        for row, key in enumerate(labels):
            for column, holds in enumerate(claims[key].values()):
                style = {"color": COLOURS[0] if holds else "white", "markeredgecolor": GREY}
                axis.plot(column, row, marker="s", markersize=10, **style)
        values = list(next(iter(claims.values())))
        axis.set_xticks(range(len(values)), values, rotation=90, fontsize="small")
        axis.set_title(parameter, fontsize="small")
        axis.set_xlim(-0.7, len(values) - 0.3)
    axes[0, 0].set_yticks(range(len(labels)), list(labels.values()), fontsize="small")
    axes[0, 0].invert_yaxis()
    save(figure, path)
