"""Plans changes from a switch's entries to the desired ones, in an order that never breaks a running stream.

A stream's registers keep the acknowledgements of its branches, and indices and branch numbers are used again
when their owners have left. So before a branch begins to count its register is reset, by the pipeline itself:

    first    new streams, with no branch counting yet; leaving branches are no longer accepted
    resets   a RESET through the pipeline for each new stream or branch
    then     everything else: branches begin to count, data is replicated to them
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from groupflow.p4rt.entries import DELETE, GROUPS, INSERT, MODIFY, TABLE_ORDER, Action, Change, Key, Value

ALL_BRANCHES = 0xFF
"""Branch number that stands for a whole stream in a RESET."""


class Reset(NamedTuple):
    """A register to set to `nothing acknowledged`: of one branch, or of a whole stream."""

    session: int
    source: int
    branch: int


class Plan(NamedTuple):
    first: list[Change]
    resets: list[Reset]
    then: list[Change]


def plan(installed: Mapping[Key, Value], desired: Mapping[Key, Value], keys: Iterable[Key]) -> Plan:
    """The changes that make each of `keys` as desired."""
    changes = [change for key in keys if (change := _change(key, installed.get(key), desired.get(key)))]
    fresh = {change.key.match for change in changes if _is_fresh_stream(change, installed)}
    resets = [Reset(session, source, ALL_BRANCHES) for session, source in sorted(fresh)]
    resets += sorted(_branch_resets(changes, fresh))
    first: list[Change] = []
    then: list[Change] = []
    for change in changes:
        if change.key.table == "streams" and change.key.match in fresh:
            first.append(change._replace(value=_inactive(change.value)))
            if _inactive(change.value) != change.value:
                then.append(Change(MODIFY, change.key, change.value))
        elif change.kind == DELETE and change.key.table == "branches":
            first.append(change)
        elif fresh and change.kind != DELETE and change.key.table in ("neighbours", GROUPS):
            first.append(change)  # a stream's groups, with their members, come before the stream
        else:
            then.append(change)
    return Plan(_ordered(first), resets, _ordered(then))


def _change(key: Key, now: Value | None, wanted: Value | None) -> Change | None:
    if now == wanted:
        return None
    if wanted is None:
        return Change(DELETE, key, None)
    return Change(INSERT if now is None else MODIFY, key, wanted)


def _is_fresh_stream(change: Change, installed: Mapping[Key, Value]) -> bool:
    """Whether a stream is new to the switch, or moved to other registers."""
    if change.key.table != "streams" or not isinstance(change.value, Action):
        return False
    now = installed.get(change.key)
    return not isinstance(now, Action) or now.params["index"] != change.value.params["index"]


def _branch_resets(changes: list[Change], fresh: set[tuple[int, ...]]) -> set[Reset]:
    """Resets for new branches of streams that are not new."""
    return {
        Reset(change.key.match[0], change.key.match[1], change.value.params["branch"])
        for change in changes
        if change.key.table == "branches"
        and isinstance(change.value, Action)
        and change.key.match[:2] not in fresh
    }


def _inactive(value: Value | None) -> Value | None:
    if not isinstance(value, Action):
        return value
    return Action(value.name, {**value.params, "active": 0})


def _ordered(changes: list[Change]) -> list[Change]:
    """The changes with each entry after those it refers to, and before them when they are deleted."""
    made = [change for change in changes if change.kind != DELETE]
    gone = [change for change in changes if change.kind == DELETE]
    made.sort(key=lambda change: TABLE_ORDER.index(change.key.table))
    gone.sort(key=lambda change: -TABLE_ORDER.index(change.key.table))
    return made + gone
