"""`groupflow probe`: measures the best socket buffers and number of TCP connections for the way to a host."""

import asyncio
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from groupflow import units
from groupflow.cli.common import Common
from groupflow.model.fields import SIZE, Help, Written, text_like
from groupflow.model.values import Share, Span
from groupflow.probe.model import BUFFERS, CONNECTIONS, PORT, ProbeOptions

if TYPE_CHECKING:
    from groupflow.probe.model import Cell, Probe

_FAR = Written(
    lambda text: units.parse_host(str(text), port=PORT), "HOST or HOST:PORT", text_like(".+"), "HOST[:PORT]"
)


def _sizes(text: object) -> tuple[int, ...]:
    return () if text == "kernel" else tuple(units.parse_size(each) for each in str(text).split(","))


def _numbers(text: object) -> tuple[int, ...]:
    if not all(each.isdecimal() for each in str(text).split(",")):
        raise units.UnitError(f"{text!r} is not a list of numbers; write one like 1,2,4")
    return tuple(int(each) for each in str(text).split(","))


_SIZES = Written(
    _sizes, "sizes with commas between", SIZE.schema, "SIZE,...", lambda _: "16KiB to 4MiB by fours"
)
_NUMBERS = Written(
    _numbers,
    "numbers with commas between",
    text_like("[0-9,]+"),
    "N,...",
    lambda them: ",".join(map(str, them)),
)


def run(
    common: Common,
    host: Annotated[tuple[str, int], Help("the host that runs `iperf3 -s`"), _FAR],
    *,
    buffers: Annotated[
        tuple[int, ...], Help("buffers of a connection; kernel: the kernel adapts them"), _SIZES
    ] = BUFFERS,
    connections: Annotated[tuple[int, ...], Help("numbers of connections"), _NUMBERS] = CONNECTIONS,
    time: Annotated[Span, Help("time for the whole measurement")] = 60.0,
    within: Annotated[
        Share,
        Help(
            "a choice that is slower than the fastest by less than this may be recommended; the cheapest is"
        ),
    ] = 0.1,
) -> None:
    """Measure the way to a host that runs `iperf3 -s`."""
    options = ProbeOptions(buffers or BUFFERS, connections, time, within, adapted=buffers == ())
    probe = asyncio.run(_measure(*host, options))
    if common.json:
        print(json.dumps(asdict(probe) | {"in_flight": probe.in_flight}))
    else:
        _show(probe)


async def _measure(host: str, port: int, options: ProbeOptions) -> "Probe":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from groupflow.probe.grid import measure

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(f"{host}:{port}", total=None)

        def show(done: int, of: int, cell: "Cell") -> None:
            bar.update(task, completed=done, total=of, description=_cell(cell))

        return await measure(host, port, options=options, on_cell=show)


def _show(probe: "Probe") -> None:
    from groupflow.cli.common import print_pairs, print_table

    numbers = sorted({cell.connections for cell in probe.cells})
    rows = [
        {"buffer": units.format_size(buffer)}
        | {str(c.connections): units.show_rate(c.bps) for c in probe.cells if c.buffer == buffer}
        for buffer in sorted({cell.buffer for cell in probe.cells if cell.buffer is not None})
    ]
    kernels = [probe.kernel, *(cell for cell in probe.cells if cell.buffer is None)]
    rows.append({"buffer": "kernel's"} | {str(c.connections): units.show_rate(c.bps) for c in kernels})
    buffer = units.format_size(probe.buffer) if probe.buffer else "buffers that the kernel adapts"
    print("throughput by socket buffer and number of connections")
    print_table(rows, ["buffer", *map(str, numbers)])
    print()
    print_pairs(
        {
            "recommended": f"{units.counted(probe.connections, 'connection')}, {buffer} each",
            "throughput": units.show_rate(probe.bps),
            "round trip": f"{1000 * probe.rtt_s:.2f} ms",
            "in flight": f"{units.format_size(probe.in_flight)} at that throughput",
        }
    )
    for warning in probe.warnings:
        print(f"warning: {warning}")


def _cell(cell: "Cell") -> str:
    buffer = "the kernel's" if cell.buffer is None else units.format_size(cell.buffer)
    return f"{units.counted(cell.connections, 'connection')}, {buffer}: {units.show_rate(cell.bps)}"
