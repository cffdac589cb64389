"""Runs a network.py of p4-utils, in a process of its own, and writes what it describes as a p4app.json.

Stand-ins take the place of p4-utils and of Mininet: nothing starts. The script ends at startNetwork().
"""

import json
import os
import re
import runpy
import sys
import traceback
from collections.abc import Callable
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from groupflow.files.exercises import STRATEGIES, Node, assign, natural

_KINDS = {"Host": "hosts", "Switch": "switches", "Router": "routers"}
_KEYS = {
    "p4_source": "p4_src",
    "p4_cli_input": "cli_input",
    "p4_switch_id": "device_id",
    "default_route": "defaultRoute",
    "log": "log_enabled",
    "arp_tables": "auto_arp_tables",
    "gw_arp": "auto_gw_arp",
    "intf_mac": "addr1",
    "intf_port": "port1",
    "intf_name": "intfName1",
    "script": "exec_scripts",
    "task": "tasks_file",
    "task_file": "tasks_file",
    "compiler": "compiler_module",
}
"""keys of a p4app.json that are not the words of a method's name: setP4Source gives p4_src"""
_OF_LINKS = ("bw", "delay", "loss", "max_queue_size", "addr1", "port1", "intfName1")
_SILENT = ("printPortMapping", "describeP4Nodes", "cleanup")


class NetworkAPI:
    """In place of p4-utils' class, with its names: it keeps nodes and links."""

    # ruff: noqa: N802
    out = 1
    """the descriptor to write to"""

    def __init__(self, *_: object, **_more: object) -> None:
        self._nodes: dict[str, Any] = {"hosts": {}, "switches": {}, "routers": {}}
        self._links: list[Node] = []
        self._default: Node = {}
        self._whole: Node = {}

    def hosts(self) -> list[str]:
        return sorted(self._nodes["hosts"], key=natural)

    def switches(self) -> list[str]:
        return sorted(self._nodes["switches"], key=natural)

    p4switches = p4rtswitches = switches

    def links(self) -> list[tuple[str, str]]:
        return [(link["node1"], link["node2"]) for link in self._links]

    def _add(self, kind: str, name: str, **options: Any) -> str:
        self._nodes[kind][name] = options
        return name

    def addLink(self, node1: str, node2: str, port1: Any = None, port2: Any = None, **options: Any) -> None:
        self._links.append({"node1": node1, "node2": node2, "port1": port1, "port2": port2, **options})

    def updateNode(self, name: str, **options: Any) -> None:
        next(nodes[name] for nodes in self._nodes.values() if name in nodes).update(options)

    def updateLink(self, node1: str, node2: str, **options: Any) -> None:
        link = next((each for each in self._links if {each["node1"], each["node2"]} == {node1, node2}), None)
        if link is None:
            raise ValueError(f"no link between {node1} and {node2}")
        ends = {"1": "2", "2": "1"} if link["node1"] != node1 else {}
        link |= {key[:-1] + ends.get(key[-1], key[-1]): value for key, value in options.items()}

    def setIntfIp(self, node1: str, node2: str, ip: str) -> None:
        of_port = node1 in self._nodes["switches"]
        self.updateLink(node1, node2, **({"sw_ip1": ip} if of_port else {"params1": {"ip": ip}}))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """The methods that add nodes, give addresses, or set an option of a node, a link or the network."""
        if name in STRATEGIES:
            return partial(assign, name, self._nodes["hosts"], self._nodes["switches"], self._links)
        if added := re.fullmatch("add(?:P4|P4Runtime)?(Host|Switch|Router)", name):
            return partial(self._add, _KINDS[added[1]])
        if found := re.fullmatch("(set|enable|disable|exec(?=Script)|add(?=Task))(.+?)(All)?", name):
            words = re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", found[2]).lower()
            return partial(self._set, _KEYS.get(words, words), found[1], found[3] is not None)
        if name in _SILENT:
            return lambda *_, **__: None
        raise AttributeError(f"groupflow has no {name}() of p4-utils")

    def _set(
        self, option: str, verb: str, everywhere: bool, /, *given: Any, key: object = None, **named: Any
    ) -> None:
        """An option of a node (name, value), of a link (two names, value) or of the network (value)."""
        of = [*given, *named.values()]
        value = of.pop() if verb == "set" else verb != "disable"
        if option == "loss":
            value *= 100
        if option in _OF_LINKS and everywhere:
            for link in self._links:
                link[option] = value
        elif option in _OF_LINKS:
            self.updateLink(*of, **{option: value})
        elif everywhere or (of and of[0] in (*self.hosts(), *self.switches())):
            for node in self.switches() if everywhere else of[:1]:
                self.updateNode(node, **{option: value})
        else:
            (self._default if option.startswith("auto_") else self._whole)[option] = value

    def startNetwork(self) -> None:
        """Writes the network, and ends the process."""
        topology = {**self._nodes, "links": self._links, "default": self._default}
        write(self.out, {**self._whole, "topology": topology})
        os._exit(0)


def write(out: int, form: object) -> None:
    with os.fdopen(out, "w") as file:
        json.dump(form, file, default=str)


class _StandIns(MetaPathFinder, Loader):
    """Finds all modules of p4-utils and of Mininet: what a script imports from them does nothing."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        ours = name.partition(".")[0] in ("p4utils", "mininet")
        return ModuleSpec(name, self, is_package=True) if ours else None

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__.update(__getattr__=_idle, NetworkAPI=NetworkAPI)


def _idle(name: str) -> type[object]:
    if name.startswith("_"):
        raise AttributeError(name)
    return type(name, (NetworkAPI,), {})


def main(file: str) -> None:
    """Runs the script; its own output goes nowhere."""
    NetworkAPI.out = os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    sys.meta_path.insert(0, _StandIns())
    sys.path.insert(0, str(Path(file).parent))
    sys.argv = [file]
    problem = "it does not call startNetwork() of p4-utils' NetworkAPI"
    try:
        runpy.run_path(file, run_name="__main__")
    except BaseException as error:  # noqa: BLE001 (of any kind: it is another's program)
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == file] or [0]
        line = error.lineno if isinstance(error, SyntaxError) else lines[-1]
        problem = f"line {line}: {type(error).__name__}: {' '.join(str(error).split())}"
    write(NetworkAPI.out, {"error": problem})


if __name__ == "__main__":
    main(sys.argv[1])
