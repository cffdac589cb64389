"""The state of the control at a moment: n, r, J and L of each hop, read from the switches' registers."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeAlias

from finsy.proto import p4r

from groupflow.control.diffusion.coefficients import RATE_MAX
from groupflow.control.diffusion.plan import QUEUES, Branch, Part
from groupflow.p4rt.connection import ConnectionFailedError
from groupflow.p4rt.program import Program

NO_LIMIT = 2**32 - 1
_REGISTERS = ("queue_depth", "queue_rate", "queue_share", "heard_headroom", "heard_depth")

Query: TypeAlias = Callable[[Sequence[p4r.Entity]], Awaitable[list[p4r.Entity]]]


class Reading(NamedTuple):
    """The state of one branch of one switch. Rates are in units; None: no limit, or no report yet."""

    switch: str
    branch: Branch
    queue: int
    n: int | None = None
    """packets waiting"""
    j: int | None = None
    """max(0, J~(alpha)): the rate of the queue"""
    r: int | None = None
    """target rate of the last report from downstream"""
    next_n: int | None = None
    """n of the node downstream, from the same report"""
    share: int | None = None
    """L of eq. 13"""
    problem: str | None = None
    """why nothing could be read, in one line"""


async def read_part(program: Program, part: Part, query: Query) -> list[Reading]:
    """A reading for each branch of a switch's part; one that fails says so in `problem`."""
    return [await _read_branch(program, part, branch, query) for branch in part.branches]


async def _read_branch(program: Program, part: Part, branch: Branch, query: Query) -> Reading:
    cell = branch.port * QUEUES + part.queue
    entities = [
        p4r.Entity(
            register_entry=p4r.RegisterEntry(register_id=program.registers[name], index=p4r.Index(index=cell))
        )
        for name in _REGISTERS
    ]
    try:
        found = await query(entities)
    except ConnectionFailedError as error:
        return Reading(part.switch, branch, part.queue, problem=str(error))
    values = {
        entity.register_entry.register_id: int.from_bytes(entity.register_entry.data.bitstring, "big")
        for entity in found
    }
    if len(values) < len(_REGISTERS):
        return Reading(part.switch, branch, part.queue, problem="the switch does not give its registers")
    return reading(part, branch, lambda name, _cell: values[program.registers[name]])


def reading(part: Part, branch: Branch, register: Callable[[str, int], int]) -> Reading:
    """The reading of a branch, from its cells of the registers."""
    cell = branch.port * QUEUES + part.queue
    n, j, share, headroom, depth = (register(name, cell) for name in _REGISTERS)
    heard = headroom != 0
    active = heard or not branch.controlled
    return Reading(
        part.switch,
        branch,
        part.queue,
        n=n,
        j=j if active and j != NO_LIMIT else None,
        r=_signed(headroom ^ RATE_MAX) if heard else None,
        next_n=depth if heard else None,
        share=share if share != NO_LIMIT else None,
    )


def _signed(value: int) -> int:
    return value - 2**32 if value >= 2**31 else value
