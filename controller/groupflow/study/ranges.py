"""The values of a parameter for which claims hold: as a finding, and as a figure."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from groupflow.study.claims import Claim, finding
from groupflow.study.drawing import save, subplots

ByValue: TypeAlias = Mapping[str, bool]
"""whether a claim holds, by the value of the parameter"""


def over_values(study: str, key: str, claim: str, parameter: str, by: ByValue, more: str = "") -> Claim:
    """A finding that holds where the claim holds at every value; the note names the values."""
    good = [value for value, holds in by.items() if holds]
    bad = [value for value, holds in by.items() if not holds]
    note = f"{parameter}: holds at {', '.join(good) or 'none'}" + (
        f"; not at {', '.join(bad)}" if bad else ""
    )
    return finding(study, key, claim, len(good) / len(by), "of the values", not bad, note + more)


def draw_verdicts(
    path: Path,
    verdicts: Mapping[str, Mapping[str, ByValue]],
    labels: Mapping[str, str],
    *,
    figsize: tuple[float, float],
    markersize: float,
) -> None:
    """Draws a panel per parameter, with a row per claim and a column per value: full where it holds."""
    figure, axes = subplots(1, len(verdicts), figsize=figsize, sharey=True, squeeze=False)
    for axis, (parameter, claims) in zip(axes[0], verdicts.items(), strict=True):
        for row, key in enumerate(labels):
            for column, holds in enumerate(claims[key].values()):
                style = {"color": "#2e7d32" if holds else "white", "markeredgecolor": "#555555"}
                axis.plot(column, row, marker="s", markersize=markersize, **style)
        values = list(next(iter(claims.values())))
        axis.set_xticks(range(len(values)), values, rotation=90, fontsize="x-small")
        axis.set_title(parameter, fontsize="small")
        axis.set_xlim(-0.7, len(values) - 0.3)
    axes[0, 0].set_yticks(range(len(labels)), list(labels.values()), fontsize="x-small")
    axes[0, 0].invert_yaxis()
    save(figure, path)
