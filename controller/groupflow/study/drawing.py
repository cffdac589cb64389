"""Figures: drawn without a display, saved whole. matplotlib is loaded when the first figure is drawn."""

from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any, TypeAlias

from groupflow.study.files import whole

Axes: TypeAlias = Any
"""matplotlib's axes; the types of matplotlib are too weak for a strict check"""

COLOURS = ("#1f4e79", "#c06010", "#2e7d32", "#8e2430", "#6a4c93", "#555555", "#0a8f8f", "#b08800")
PALE = "#b9c4d0"
DOTS_PER_INCH = 100


def subplots(
    rows: int = 1, columns: int = 1, *, figsize: tuple[float, float], **shared: Any
) -> tuple[Any, Any]:
    """A figure, and its axes in rows and columns; `shared`: further arguments for matplotlib."""
    figure = blank(figsize)
    return figure, figure.subplots(rows, columns, **shared)


def blank(figsize: tuple[float, float]) -> Any:
    """A figure without axes; the size is in inches."""
    return _pyplot().figure(figsize=figsize, layout="constrained")


def save(figure: Any, path: Path) -> None:
    """Writes the figure as PNG, and releases it."""
    with whole(path) as part:
        figure.savefig(part, dpi=DOTS_PER_INCH, format="png")
    _pyplot().close(figure)


def vector(figure: Any) -> str:
    """The figure as SVG, and releases it."""
    out = StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(out, format="svg", transparent=True, metadata=nothing)
    _pyplot().close(figure)
    return out.getvalue()


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    return import_module("matplotlib.pyplot")
