"""What all figures share: no display, and files that are whole or not there."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

COLOURS = ("#1f4e79", "#c06010", "#2e7d32", "#8e2430", "#6a4c93", "#555555", "#0a8f8f", "#b08800")
PALE = "#b9c4d0"
DOTS_PER_INCH = 100


def save(figure: Figure, path: Path) -> None:
    part = path.with_name(f".{path.name}.part")
    # matplotlib does not type its keyword arguments.
    figure.savefig(part, dpi=DOTS_PER_INCH, format="png")  # pyright: ignore[reportUnknownMemberType]
    plt.close(figure)
    part.replace(path)
