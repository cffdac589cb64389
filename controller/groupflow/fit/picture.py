"""The picture, one SVG: stages as columns, how full each is, and where the tables are."""

from collections.abc import Iterator
from html import escape

from groupflow.fit.report import Report

_NAME, _COLUMN, _ROW, _TOP = 300, 44, 18, 46  # pixels
_COLOURS = {"ingress": "#0072b2", "egress": "#d55e00", "ghost": "#009e73"}  # of Okabe and Ito


def draw(report: Report) -> str:
    """The SVG of a pipe."""
    width = _NAME + _COLUMN * report.stages_available + 20
    first_table = _TOP + _ROW * (len(report.available) + 1)
    height = first_table + _ROW * (len(report.tables) + 1)
    numbers = range(report.stages_available)
    return "\n".join((
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>',
        _text(8, 18, f"{report.program} ({report.pipe}): {report.summary}"),
        *(_text(_x(number) + _COLUMN / 2, _TOP - 6, str(number), "middle") for number in numbers),
        *_fullness(report),
        *_tables(report, first_table),
        "</svg>\n",
    ))  # fmt: skip


def _x(stage: int) -> int:
    return _NAME + _COLUMN * stage


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'


def _box(stage: int, y: int, fill: str, hint: str, opacity: float = 1.0) -> str:
    """A cell; `hint` is shown under the pointer."""
    where = f'x="{_x(stage) + 1}" y="{y + 1}" width="{_COLUMN - 2}" height="{_ROW - 2}"'
    return f'<rect {where} fill="{fill}" fill-opacity="{opacity:.2f}"><title>{escape(hint)}</title></rect>'


def _fullness(report: Report) -> Iterator[str]:
    for row, (name, most) in enumerate(report.available.items()):
        y = _TOP + _ROW * row
        yield _text(_NAME - 8, y + _ROW - 5, f"{name.replace('_', ' ')} (of {most})", "end")
        for number, used in enumerate(report.stages):
            if used[name]:
                yield _box(number, y, "#e69f00", f"{used[name]} of {most}", used[name] / max(most, 1))
                yield _text(_x(number) + _COLUMN / 2, y + _ROW - 5, str(used[name]), "middle")


def _tables(report: Report, top: int) -> Iterator[str]:
    chain = {name for chain in report.chains.values() for one in chain for name in (one.before, one.after)}
    for row, table in enumerate(report.tables):
        y, colour = top + _ROW * row, _COLOURS.get(table.gress, "black")
        yield _text(_NAME - 8, y + _ROW - 5, table.name[-46:] + " *" * (table.name in chain), "end")
        if table.earliest is not None and table.latest is not None:
            ends = f'x1="{_x(table.earliest)}" x2="{_x(table.latest + 1)}" y1="{y + 9}" y2="{y + 9}"'
            yield f'<line {ends} stroke="{colour}" stroke-opacity="0.4"/>'
        uses = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in table.uses.items())
        yield from (_box(stage, y, colour, f"{table.name}: {uses}") for stage in table.stages)
