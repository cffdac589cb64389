"""The links of a running network: named, changed, and as they are now.

All who change a link, in the network's process or in others, keep the change in one file: a switch that is
started again gets the changes that it missed.
"""

import fcntl
import json
import re
import subprocess
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeAlias, cast

from groupflow import units
from groupflow.control.live.sockets import carriers
from groupflow.data import RUN_FOLDER
from groupflow.errors import Error, InvalidError
from groupflow.files.topology import load
from groupflow.lab import kernel_link
from groupflow.lab.registry import Entry
from groupflow.model.topology import End, Link, Topology
from groupflow.p4rt.connection import ControlError, NotRunningError, ask

Row: TypeAlias = dict[str, object]
RECORD = "links.json"
"""file of the changes, in the folder of logs"""
TOPOLOGY = "topology.yaml"
"""file of the network as it was read, in the folder of logs"""
COLUMNS = ("link", "state", "rate", "delay", "loss", "queue", "interfaces")
"""of `Links.rows`"""
_CHANGE = re.compile(r"(\w+)=(.*)|up|down")
_READERS: Mapping[str, Callable[[object], object]] = {
    "rate": units.parse_rate,
    "delay": units.parse_delay,
    "loss": units.parse_loss,
    "queue": units.parse_packets,
}
_DIRECTIONS = ("in", "out", "both")


def asked(topology: Topology, words: Sequence[str]) -> tuple[tuple[Link, ...], str]:
    """The links that words name, and the change that follows: `s1 s2 down`, `s1-eth3 rate=1mbit loss=1%`.

    Two nodes, or NODE-NODE, are all links between them; an interface is one link. The change may be missing.
    Raises InvalidError.
    """
    named = list(takewhile(lambda word: not _CHANGE.fullmatch(word.partition(",")[0]), words))
    change = ",".join(words[len(named) :])
    if len(named) not in (1, 2):
        raise InvalidError(
            "write a link and its change: s1-s2 down, or s1-eth3 rate=10mbit delay=5ms loss=1%"
        )
    found = tuple(link for link in topology.links if _is_named(link, named))
    if not found:
        known = ", ".join(dict.fromkeys(link.name for link in topology.links))
        raise InvalidError(f"no link {'-'.join(named)}; links are {known}; of several, name an interface")
    return found, change


def _is_named(link: Link, words: Sequence[str]) -> bool:
    a, b = link.a, link.b
    if len(words) == 2:
        return {a.node, b.node} == {*words}
    return words[0] in (link.name, f"{b.node}-{a.node}", a.interface, b.interface)


def settings(change: str) -> dict[str, str]:
    """The values of a change by key; up and down are of the key `state`. Raises InvalidError."""
    found: dict[str, str] = {}
    for part in change.split(","):
        match = _CHANGE.fullmatch(part)
        key, text = (match[1] or "state", match[2] or part) if match else ("", part)
        try:
            if key in _READERS:
                _READERS[key](text)
            elif key not in ("state", "dir") or (key == "dir" and text not in _DIRECTIONS) or not text:
                raise ValueError("write rate=, delay=, loss=, queue=, dir=in or out, up or down")
        except ValueError as error:
            raise InvalidError(f"{part!r} changes no link: {error}") from None
        if key in found:
            raise InvalidError(f"{part}: {key} is there twice; write one")
        found[key] = text
    return found


@dataclass(frozen=True)
class Links:
    """Changes and shows links. `root` is the folder / of the network, as this process sees it."""

    topology: Topology
    kind: str
    """of its switches"""
    record: Path
    """file of the changes so far"""
    sockets: Path
    """folder of the control sockets of its switches"""
    root: Path
    launcher: Callable[[str], Sequence[str]]
    """words before a command that run it at a node"""

    def change(self, link: Link, change: str) -> None:
        """Changes a link at each switch that emulates it, or else in the kernel. Raises Error,
        ControlError."""
        keys = settings(change)
        with self._changes() as changes:
            if self.kind == "bmv2":
                self._lose(link, keys, changes)
            former = changes.setdefault(link.a.interface, {})
            absent = [end.node for end in (link.a, link.b) if not self._tell(link, end, change)]
            name = " ".join((*sorted({*keys} - {"dir"}), keys.get("dir", "")))
            former.pop(name, None)
            former[name] = change  # behind all before
        if absent:
            raise ControlError(f"{absent[0]} does not run; it gets the change when it starts")

    def restore(self, switch: str) -> None:
        """Tells a switch that was started again of the changes of its links. Raises ControlError."""
        with self._changes() as changes:
            ends = [(link, end) for link in self.topology.links for end in (link.a, link.b)]
            for link, end in ends:
                if end.node == switch:
                    for change in changes.get(link.a.interface, {}).values():
                        self._tell(link, end, change)

    def rows(self) -> list[Row]:
        """Each link as it is now. What is not known is None."""
        stats = {} if self.kind == "bmv2" else self._stats()
        ends = [end for link in self.topology.links for end in (link.a, link.b)]
        carrying = carriers({end.interface for end in ends if end.node in self.topology.switches}, self.root)
        with self._changes() as changes:
            return [
                self._row(link, stats, carrying, changes.get(link.a.interface, {}))
                for link in self.topology.links
            ]

    def _tell(self, link: Link, end: End, change: str) -> bool:
        """Tells the switch at an end of a change; False: it does not run. Between two switches, each
        emulates what it sends. Raises ControlError."""
        if end.node not in self.topology.switches or self.kind == "bmv2":
            return True
        between = self.topology.switches.keys() >= {link.a.node, link.b.node} and "dir=" not in change
        spec = f"{change},dir=out" if between else change
        try:
            ask(self.sockets / f"{end.node}.sock", {"op": "link", "port": end.port, "spec": spec})
        except NotRunningError:
            return False
        except ControlError as error:
            raise ControlError(f"{end.node}: {error}") from None
        return True

    def _lose(self, link: Link, keys: Mapping[str, str], changes: Mapping[str, Mapping[str, str]]) -> None:
        if other := {key: text for key, text in keys.items() if key not in ("loss", "state")}:
            raise Error(f"{_text(other)}: only loss, down and up are emulated here; use --switch gfswitch")
        if not kernel_link.is_offered():
            raise Error(kernel_link.ABSENT)
        loss, is_up = _kept(link, {**changes.get(link.a.interface, {}), "": _text(keys)})
        for end in (link.a, link.b):
            script = kernel_link.loss_script(end.interface, loss if is_up else units.PARTS)
            command = [*self.launcher(end.node), "sh", "-ec", script]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise Error(f"{end.node}: {_text(keys)}: {done.stderr.strip()}")

    def _stats(self) -> dict[str, dict[int, Any]]:
        found: dict[str, dict[int, Any]] = {}
        for name in self.topology.switches:
            with suppress(ControlError):
                stats = ask(self.sockets / f"{name}.sock", {"op": "stats"})
                found[name] = {port["port"]: port for port in cast(list[dict[str, Any]], stats["ports"])}
        return found

    def _row(
        self,
        link: Link,
        stats: Mapping[str, Mapping[int, Any]],
        carrying: Mapping[str | None, bool],
        kept: Mapping[str, str],
    ) -> Row:
        ends = [end for end in (link.a, link.b) if end.node in self.topology.switches]
        here = [stats.get(end.node, {}).get(end.port) for end in ends]
        if self.kind == "bmv2":
            loss, is_up = _kept(link, kept)
            sides = [{"loss_ppb": loss}] if kernel_link.is_offered() else []
        else:
            is_up = None if None in here else all(port["up"] for port in here if port)
            sides = [port["out"]["link"] for port in here if port]
            sides += [port["in"]["link"] for port in here if port and len(ends) == 1]
        if is_up and not all(carrying[end.interface] for end in ends):
            is_up = False
        return {
            "link": link.name,
            "state": {True: "up", False: "down", None: None}[is_up],
            "rate": _both(sides, "rate_bps", units.format_rate),
            "delay": _both(sides, "delay_ns", units.format_delay),
            "loss": _both(sides, "loss_ppb", units.format_loss),
            "queue": _both(sides, "queue_packets", str),
            "interfaces": f"{link.a.interface} {link.b.interface}",
        }

    @contextmanager
    def _changes(self) -> Generator[dict[str, dict[str, str]]]:
        """The changes so far, by the interface of a link's first end; kept if the block does not raise."""
        with self.record.open("a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            before = file.read()
            changes = cast(dict[str, dict[str, str]], json.loads(before or "{}"))
            yield changes
            if (after := json.dumps(changes)) != (before or "{}"):
                file.truncate(0)
                file.write(after)


def links_of(entry: Entry) -> Links:
    """The links of a network that another process runs."""
    folder, root = Path(entry.folder), Path(f"/proc/{entry.pid}/root")
    sockets = root / RUN_FOLDER.relative_to("/")
    return Links(load(folder / TOPOLOGY), entry.switch, folder / RECORD, sockets, root, entry.launcher)


def _kept(link: Link, changes: Mapping[str, str]) -> tuple[int, bool]:
    """The loss of a link after changes, and whether it is up."""
    found: dict[str, str] = {}
    for change in changes.values():
        found |= settings(change)
    loss = units.parse_loss(found["loss"]) if "loss" in found else link.spec.loss
    return loss, found.get("state") != "down"


def _text(keys: Mapping[str, str]) -> str:
    return ",".join(text if key == "state" else f"{key}={text}" for key, text in keys.items())


def _both(sides: Sequence[Mapping[str, Any]], key: str, show: Callable[[Any], str]) -> str | None:
    """A setting of both directions: one value where they agree."""
    found = dict.fromkeys(show(side[key]) for side in sides if key in side)
    return " / ".join(found) or None
