"""One measurement with the program iperf3: its command, the JSON that it prints, and its errors."""

import asyncio
from asyncio.subprocess import DEVNULL, PIPE
from typing import Annotated

from pydantic import AliasPath, BaseModel, Field, ValidationError

from groupflow import needs
from groupflow.errors import reason
from groupflow.probe.model import BoundedError, BusyError, Cell, ProbeError, ProbeOptions, RefusedError

PROGRAM = "iperf3"
INTERVAL_S = 0.1
"""between two round trips that iperf3 reads from the kernel: the first come before queues are full"""
LONGEST_ERROR = 200

_Figure = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Failure(BaseModel):
    error: str = ""


class _Stream(BaseModel):
    rtt: _Figure
    """us, smoothed by the kernel"""


class _Interval(BaseModel):
    streams: Annotated[list[_Stream], Field(min_length=1)]


class _Report(BaseModel):
    """Parts of iperf3's JSON; others are ignored."""

    intervals: Annotated[list[_Interval], Field(min_length=1)]
    received_bps: _Figure = Field(validation_alias=AliasPath("end", "sum_received", "bits_per_second"))
    here: _Figure = Field(validation_alias=AliasPath("end", "cpu_utilization_percent", "host_total"))
    """percent of a core that iperf3 used, as `there`"""
    there: _Figure = Field(validation_alias=AliasPath("end", "cpu_utilization_percent", "remote_total"))


async def run(
    host: str, port: int, buffer: int | None, connections: int, options: ProbeOptions
) -> tuple[Cell, float]:
    """Measures one cell with the `iperf3 -s` of the host. Returns also the shortest round trip, in seconds.
    Raises ProbeError."""
    where = f"{host}:{port}"
    command = [PROGRAM, "--json", "--client", host, "--port", str(port), "--parallel", str(connections)]
    command += ["--omit", str(options.warm_up_s), "--time", str(options.measured_s)]
    command += ["--interval", str(INTERVAL_S), "--connect-timeout", str(round(1000 * options.timeout))]
    if buffer is not None:
        command += ["--window", str(buffer)]
    try:
        child = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    except FileNotFoundError:
        raise ProbeError(needs.missing(PROGRAM)) from None
    except OSError as error:
        raise ProbeError(f"{PROGRAM} does not start: {reason(error)}; install it again") from None
    try:
        async with asyncio.timeout(options.cell_s + options.timeout):
            output, errors = await child.communicate()
    except TimeoutError:
        raise ProbeError(
            f"{where}: no answer for {options.timeout:g} s; is that `iperf3 -s`,"
            " and is the way to it still there?"
        ) from None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if not output:
        raise failure(host, port, buffer, errors.decode(errors="replace"))
    return read(output, host, port, buffer, connections)


def read(output: bytes, host: str, port: int, buffer: int | None, connections: int) -> tuple[Cell, float]:
    """The cell and the shortest round trip from iperf3's JSON. Raises ProbeError."""
    try:
        if error := _Failure.model_validate_json(output, strict=True).error:
            raise failure(host, port, buffer, error)
        report = _Report.model_validate_json(output, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise ProbeError(
            f"{host}:{port}: iperf3 printed no JSON of a measurement: {_line(field + ' ' + first['msg'])};"
            " install iperf3 3.12 or newer"
        ) from None
    rtt_us = min(stream.rtt for interval in report.intervals for stream in interval.streams)
    busy = max(report.here, report.there) / 100
    return Cell(buffer, connections, report.received_bps, busy), rtt_us / 1e6


def failure(host: str, port: int, buffer: int | None, text: str) -> ProbeError:
    """The error for a line of iperf3's."""
    where, text = f"{host}:{port}", _line(text)
    if "server is busy" in text:
        return BusyError(f"{where}: the server measures with another client; try again later")
    if "socket buffer size" in text:
        return BoundedError(
            f"{host} refuses a buffer of {buffer} bytes; to measure more, raise it there:"
            f" sysctl -w net.core.rmem_max={buffer} net.core.wmem_max={buffer}"
        )
    if "authorization failed" in text:
        return RefusedError(f"{where}: the server wants a user and a password; start `iperf3 -s` without")
    if "unable to connect" in text:
        text = text.rpartition(": ")[2].lower()
        if "refused" in text:
            return ProbeError(f"{where}: {text}; start `iperf3 -s` there, or name its port")
        return ProbeError(
            f"{where}: {text}; check the address, and that firewalls let TCP port {port} through"
        )
    return ProbeError(f"{where}: iperf3: {text or 'no output'}; is that `iperf3 -s`? try again")


def _line(text: str) -> str:
    return " ".join(text.split())[:LONGEST_ERROR].removeprefix("iperf3: ").removeprefix("error - ")
