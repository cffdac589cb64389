"""`groupflow net`: starts networks of one's own, and runs programs in them."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never

from groupflow.cli import values
from groupflow.cli.command import (
    OK,
    REFUSED,
    USAGE,
    CommandError,
    Parser,
    Subparsers,
    add_command,
    add_group,
    failing_with,
)
from groupflow.network import ports

if TYPE_CHECKING:
    from groupflow.lab.named import Running
    from groupflow.lab.registry import Claim, Entry
    from groupflow.network.topology import Topology

DEFAULT_API = ("127.0.0.1", ports.API)
_INSIDE = "GROUPFLOW_NETWORK"
"""the environment variable that a process in a network's own namespaces has: its inheritance, as JSON"""
_END_SECONDS = 20.0
_FILES = "YAML, a topology.json of p4lang/tutorials or p4-utils, GraphML, or a name: fig5"


def register(subparsers: Subparsers) -> None:
    commands = add_group(
        subparsers, "net", "start a network of your own, and run programs in it (root)",
        example="sudo .venv/bin/groupflow net up fig5 --cli",
    )  # fmt: skip
    _add_up(commands)
    imported = add_command(
        commands, "import",
        "print a topology of p4lang/tutorials, p4-utils or Topology Zoo as YAML, to go on with", _import,
        example="groupflow net import Abilene.graphml > abilene.yaml",
    )  # fmt: skip
    imported.add_argument("topology", metavar="FILE", help=_FILES)
    listed = add_command(commands, "list", "list the networks that run", _list, example="groupflow net list")
    listed.add_argument("--json", action="store_true", help="print JSON")
    execute = add_command(
        commands, "exec", "run a program in a host, or beside the switches", _exec,
        example="sudo .venv/bin/groupflow net exec h1 ping -c 3 10.0.2.1",
    )  # fmt: skip
    execute.add_argument("--net", dest="name", metavar="NAME", help="the network (default: the only one)")
    execute.add_argument("node", metavar="NODE", help="a host, or a switch: s1")
    execute.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="the program")
    status = add_command(
        commands, "status", "show a network and what its controller knows", _status,
        example="groupflow net status",
    )  # fmt: skip
    _add_name(status)
    status.add_argument("--json", action="store_true", help="print JSON")
    example = "sudo .venv/bin/groupflow net down fig5"
    down = add_command(commands, "down", "end a network", _down, example=example)
    _add_name(down)


def _add_up(commands: Subparsers) -> None:
    up = add_command(
        commands, "up",
        "start switches, controller, agents and hosts of a topology, until Ctrl-C or `net down`", _up,
        example="sudo .venv/bin/groupflow net up hall.yaml --cli",
    )  # fmt: skip
    add = up.add_argument
    add("topology", metavar="FILE", help=f"the network: {_FILES}")
    add("--name", help="its name for other commands (default: the topology's)")
    add("--cli", action="store_true", help="give a prompt: Mininet's commands, send, recv, sessions, status")
    add(
        "--switch", choices=("gfswitch", "bmv2"), default="gfswitch",
        help="with bmv2, links have no rate, delay or queue (default: %(default)s)",
    )  # fmt: skip
    add(
        "--p4", type=Path, metavar="FILE",
        help="a P4 program of your own on every switch: prog.p4, or the prog.json that p4c made of it",
    )  # fmt: skip
    add(
        "--no-controller", action="store_true",
        help="switches and hosts only, without a program unless --p4 names one: bring your own controller",
    )  # fmt: skip
    add("--pcap", type=Path, metavar="FOLDER", help="capture the frames of all switches' ports")
    add(
        "--api", type=values.listen_address, metavar="HOST:PORT",
        help="address of the controller's API (default: 127.0.0.1:9580, or a free port)",
    )  # fmt: skip
    add("--record", type=Path, metavar="FILE", help="record what the page shows, for `groupflow play FILE`")
    add("--out", type=Path, metavar="FOLDER", help="logs and files (default: out/net/NAME)")


def _add_name(parser: Parser) -> None:
    parser.add_argument("name", nargs="?", help="the network (default: the only one)")


def _up(args: argparse.Namespace) -> int:
    from groupflow.endpoint.errors import ProgramNotFoundError
    from groupflow.lab.leftovers import InUseError
    from groupflow.lab.network import UNSHARE, NetworkError, check_rights
    from groupflow.lab.registry import Claim, RegistryError
    from groupflow.network.topology import TopologyError
    from groupflow.processes import DaemonError

    with (
        failing_with(NetworkError, DaemonError, ProgramNotFoundError, OSError),
        failing_with(TopologyError, RegistryError, InUseError, code=REFUSED),
    ):
        topology = _asked(args)
        name = args.name or topology.name
        if _INSIDE not in os.environ:
            check_rights(UNSHARE)
            with Claim(name) as claim:
                _enter(args, claim)
        inherited = json.loads(os.environ.pop(_INSIDE))
        from groupflow.endpoint.api_token import VARIABLE, forgotten
        from groupflow.lab.named import NamedOptions, Supervision, named, watch

        options = NamedOptions(
            name=name,
            topology=topology,
            file=args.topology,
            switch=args.switch,
            controller=not args.no_controller,
            folder=args.out or Path("out/net") / name,
            api=inherited["url"],
            sockets=tuple(inherited["sockets"]),
            record=args.record,
            pcap=args.pcap,
        )
        token = inherited["token"] and Path(inherited["token"])
        claim = Claim(name, inherited["claim"], Path(inherited["claims"]))
        with claim, forgotten(token, os.environ.get(VARIABLE, "")), named(options, claim) as up:
            print(_started(up), flush=True)
            supervision = Supervision(
                up, lambda line: print(f"groupflow: {line}", file=sys.stderr, flush=True)
            )
            if args.cli:
                from groupflow.lab.prompt import Prompt

                Prompt(up, supervision, options.folder)
            else:
                watch(supervision)
    return OK


def _asked(args: argparse.Namespace) -> "Topology":
    """The topology of the command line. Raises TopologyError."""
    from dataclasses import replace

    from groupflow.network.topology import load

    topology = load(args.topology)
    if args.pcap:
        topology = replace(topology, pcap=frozenset(topology.switches))
    if args.p4:
        own = {"program": args.p4, "p4info": None}
        switches = {name: replace(switch, **own) for name, switch in topology.switches.items()}
        topology = replace(topology, switches=switches)
    return topology


def _import(args: argparse.Namespace) -> int:
    from groupflow.network.topology import TopologyError, load
    from groupflow.network.variants import render

    with failing_with(TopologyError, code=REFUSED):
        print(render(load(args.topology)), end="")
    return OK


def _enter(args: argparse.Namespace, claim: "Claim") -> Never:
    """Takes the API's address, then goes on in namespaces of the network's own."""
    from groupflow.control.api.server import ApiError, listen
    from groupflow.endpoint import api_token
    from groupflow.lab.network import run_again
    from groupflow.lab.registry import FOLDER

    asked: tuple[str, int] | None = args.api
    # The network's own /run/groupflow hides the folders of names and of tokens.
    folder, claims = api_token.past_mounts(FOLDER)
    url, token, kept = None, None, [claim.descriptor, folder]
    sockets = list[int]()
    if not args.no_controller:
        with failing_with(ApiError):
            try:
                api = listen(*(asked or DEFAULT_API))
            except ApiError:
                if asked:
                    raise
                api = listen(DEFAULT_API[0], 0)
        host, port = api.getsockname()[:2]
        if not ip_address(host).is_loopback:
            raise CommandError(f"--api {host}: the API is not encrypted; write 127.0.0.1:{port}", USAGE)
        sockets, url = [api.detach()], f"http://{host}:{port}"
        os.environ[api_token.VARIABLE] = api_token.new()
        with failing_with(api_token.TokenFileError):
            path = api_token.keep(url, os.environ[api_token.VARIABLE])
        folder, token = api_token.past_mounts(path)
        kept.append(folder)
    inherited = {"claim": claim.descriptor, "claims": str(claims), "sockets": sockets, "url": url}
    inherited["token"] = token and str(token)
    with api_token.forgotten(token, os.environ.get(api_token.VARIABLE, "")):  # if it cannot go on
        run_again(sys.argv[1:], {_INSIDE: json.dumps(inherited)}, [*kept, *sockets])


def _started(up: "Running") -> str:
    from groupflow.endpoint.api_token import page

    entry = up.entry
    sudo = "sudo " if "SUDO_UID" in os.environ else ""
    lines = [
        f"{entry.name}: {len(entry.switches)} switches ({entry.switch}), {len(entry.hosts)} hosts; "
        f"logs and files in {entry.folder}",
        f"controller: {entry.api}  ({sudo}groupflow ctl --api {entry.api} status)"
        if entry.api
        else f"controller: none; your own: groupflow net exec --net {entry.name} {entry.switches[0]} COMMAND",
        *([f"page:       {page(entry.api)}"] if entry.api else []),
        f"programs:   groupflow net exec --net {entry.name} {next(iter(entry.hosts))} COMMAND",
    ]
    return "\n".join(lines)


def _list(args: argparse.Namespace) -> int:
    from groupflow.cli.rest_client import print_rows
    from groupflow.lab.registry import RegistryError, running_networks

    with failing_with(RegistryError, code=REFUSED):
        rows = [asdict(each) if args.json else _row(each) for each in running_networks()]
    return print_rows(args, rows, ("name", "topology", "switch", "switches", "hosts", "api", "pid"))


def _row(entry: "Entry") -> dict[str, Any]:
    counts = {"switches": len(entry.switches), "hosts": len(entry.hosts)}
    return asdict(entry) | counts | {"api": entry.api or "-"}


def _find(name: str | None) -> "Entry":
    from groupflow.lab.registry import RegistryError, find

    with failing_with(RegistryError, code=REFUSED):
        return find(name)


def _exec(args: argparse.Namespace) -> int:
    entry = _find(args.name)
    command: Sequence[str] = args.command
    if not command:
        raise CommandError("no program; write: groupflow net exec h1 ping -c 3 10.0.2.1", USAGE)
    if args.node not in entry.hosts and args.node not in entry.switches:
        known = ", ".join((*entry.hosts, *entry.switches))
        raise CommandError(f"no node {args.node} in {entry.name}; nodes are {known}", REFUSED)
    pid = entry.hosts.get(args.node, entry.pid)
    os.environ["GROUPFLOW_NAME"] = args.node
    launcher = ("mnexec", "-a", str(pid))
    if os.geteuid() != 0:
        raise CommandError("root is needed to enter a host; use sudo")
    with failing_with(OSError):
        os.execvp(launcher[0], [*launcher, *command])


def _status(args: argparse.Namespace) -> int:
    from groupflow.cli import status

    entry = _find(args.name)
    args.api = entry.api
    if entry.api is None:
        raise CommandError(
            f"{entry.name} runs without a controller; its switches are {', '.join(entry.switches)}"
        )
    return status.show(args)


def _down(args: argparse.Namespace) -> int:
    from groupflow.lab.named import end
    from groupflow.lab.registry import running_networks

    entry = _find(args.name)
    with failing_with(PermissionError):
        gone = end(entry, _END_SECONDS, lambda: entry.name in {each.name for each in running_networks()})
    if not gone:
        raise CommandError(f"{entry.name} (pid {entry.pid}) does not end; see {entry.folder}")
    return OK
