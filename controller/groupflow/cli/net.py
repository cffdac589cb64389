"""`groupflow net`: starts networks of one's own, and runs programs in them."""

import json
import os
import sys
import warnings
from dataclasses import asdict, replace
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Never, TypeAlias

from groupflow.cli.common import (
    Common,
    Row,
    call,
    check_folder,
    check_output,
    listed,
    on_stop,
    print_json,
    print_table,
)
from groupflow.errors import Error, InvalidError, UsageError
from groupflow.lab.registry import FOLDER, Claim, Entry, find, running_networks
from groupflow.model import ports
from groupflow.model.fields import Help
from groupflow.model.values import ListenAddress
from groupflow.processes import path_with_programs
from groupflow.units import counted

if TYPE_CHECKING:
    from groupflow.lab.named import Running
    from groupflow.model.topology import Topology

DEFAULT_API = ("127.0.0.1", ports.API)
_INSIDE = "GROUPFLOW_NETWORK"
"""the environment variable that a process in a network's own namespaces has: its inheritance, as JSON"""
_END_SECONDS = 20.0
_FILES = "YAML, topology.json, p4app.json or network.py of the P4 exercises, GraphML, or a name: fig5"
Name: TypeAlias = Annotated[str | None, Help("name of the network (default: the only one)")]


def up(
    topology: Annotated[str, Help(f"the network: {_FILES}", "FILE")],
    *,
    name: Annotated[str | None, Help("name for other commands (default: the topology's)")] = None,
    cli: Annotated[bool, Help("give a prompt: Mininet's commands, send, recv, sessions, status")] = False,
    switch: Annotated[
        Literal["gfswitch", "bmv2"], Help("switch program; with bmv2, links have no rate, delay or queue")
    ] = "gfswitch",
    p4: Annotated[
        Path | None, Help("P4 program of your own on every switch: prog.p4, or its prog.json")
    ] = None,
    controller: Annotated[
        bool, Help("--no-controller: switches and hosts only, without a program unless --p4 names one")
    ] = True,
    pcap: Annotated[Path | None, Help("folder for captures of all switches' ports", "FOLDER")] = None,
    listen: Annotated[
        ListenAddress | None,
        Help("address of the controller's API (default: 127.0.0.1:9580, or a free port)"),
    ] = None,
    record: Annotated[
        Path | None, Help("file that records what the page shows, for `groupflow net play`")
    ] = None,
    out: Annotated[Path | None, Help("folder for logs and files (default: out/net/NAME)", "FOLDER")] = None,
) -> None:
    """Start switches, controller, agents and hosts of a topology, until Ctrl-C or `net down`."""
    from groupflow.lab.network import UNSHARE, check_rights

    network = _asked(topology, p4, pcap)
    named_as = name or network.name
    out = out or Path("out/net") / named_as
    for folder, option in ((out, "--out"), (pcap, "--pcap")):
        check_folder(folder, option)
    check_output(record, "--record")
    if _INSIDE not in os.environ:
        check_rights(UNSHARE)
        os.environ["PATH"] = path_with_programs()
        with Claim(named_as) as claim:
            _enter(claim, listen, controller=controller)
    inherited = json.loads(os.environ.pop(_INSIDE))
    from groupflow.agents.api_token import VARIABLE, forgotten
    from groupflow.lab.named import Supervision, named, wait_for_end

    token = inherited["token"] and Path(inherited["token"])
    claim = Claim(named_as, inherited["claim"], Path(inherited["claims"]))
    network_up = named(
        claim, named_as, network, topology, out,
        switch=switch, controlled=controller, api=inherited["url"], sockets=inherited["sockets"],
        record=record, pcap=pcap,
    )  # fmt: skip
    with claim, forgotten(token, os.environ.get(VARIABLE, "")), network_up as running:
        print(_started(running), flush=True)
        supervision = Supervision(
            # Written at once, since it may come in the middle of another line's print.
            running,
            lambda line: os.write(sys.stderr.fileno(), f"groupflow: {line}\n".encode()),
        )
        with supervision.always():
            if cli:
                from groupflow.lab.prompt import Prompt

                Prompt(running, supervision, out)
            else:
                wait_for_end()


def _asked(file: str, p4: Path | None, pcap: Path | None) -> "Topology":
    """The topology of the command line. Raises TopologyError."""
    from groupflow.files.topology import load
    from groupflow.lab.own_program import check_program

    with warnings.catch_warnings():
        if _INSIDE in os.environ:  # shown already, before this process entered its namespaces
            warnings.simplefilter("ignore")
        topology = load(file)
    if pcap:
        topology = replace(topology, pcap=frozenset(topology.switches))
    if p4:
        check_program(p4, "--p4")
        switches = {
            name: replace(switch, program=p4, p4info=None) for name, switch in topology.switches.items()
        }
        topology = replace(topology, switches=switches)
    return topology


def _enter(claim: Claim, asked: tuple[str, int] | None, *, controller: bool) -> Never:
    """Takes the API's address, then goes on in namespaces of the network's own."""
    from groupflow.agents import api_token
    from groupflow.control.api.server import ApiError, listen
    from groupflow.lab.network import run_again

    # The network's own /run/groupflow hides the folders of names and of tokens.
    folder, claims = api_token.past_mounts(FOLDER)
    url, token, kept = None, None, [claim.descriptor, folder]
    sockets = list[int]()
    if controller:
        try:
            api = listen(*(asked or DEFAULT_API), option="--listen")
        except ApiError:
            if asked:
                raise
            api = listen(DEFAULT_API[0], 0)
        host, port = api.getsockname()[:2]
        if not ip_address(host).is_loopback:
            raise UsageError(f"--listen {host}: the API is not encrypted; write 127.0.0.1:{port}")
        sockets, url = [api.detach()], f"http://{host}:{port}"
        os.environ[api_token.VARIABLE] = api_token.new()
        path = api_token.keep(url, os.environ[api_token.VARIABLE])
        folder, token = api_token.past_mounts(path)
        kept.append(folder)
    inherited = {"claim": claim.descriptor, "claims": str(claims), "sockets": sockets, "url": url}
    inherited["token"] = token and str(token)
    with api_token.forgotten(token, os.environ.get(api_token.VARIABLE, "")):  # if it cannot go on
        run_again(sys.argv[1:], {_INSIDE: json.dumps(inherited)}, [*kept, *sockets])


def _started(up: "Running") -> str:
    from groupflow.agents.api_token import page

    entry = up.entry
    sudo = "sudo " if "SUDO_UID" in os.environ else ""
    lines = [
        f"{entry.name}: {counted(len(entry.switches), 'switch', 'switches')} ({entry.switch}), "
        f"{counted(len(entry.hosts), 'host')}; logs and files in {entry.folder}",
        f"controller: {entry.api}  ({sudo}groupflow controller show --net {entry.name})"
        if entry.api
        else f"controller: none; your own: groupflow net exec --net {entry.name} {entry.switches[0]} COMMAND",
        *([f"page:       {page(entry.api)}"] if entry.api else []),
        f"programs:   groupflow net exec --net {entry.name} {next(iter(entry.hosts))} COMMAND",
    ]
    return "\n".join(lines)


def list_all(common: Common) -> None:
    """List the networks that run."""
    rows = [asdict(each) if common.json else _row(each) for each in running_networks()]
    listed(common, rows, ("name", "topology", "switch", "switches", "hosts", "api", "pid"))


def _row(entry: Entry) -> Row:
    counts = {"switches": len(entry.switches), "hosts": len(entry.hosts)}
    return asdict(entry) | counts | {"api": entry.api or "-"}


def show(
    common: Common,
    network: Annotated[
        str | None,
        Help(f"a running network (default: the only one), or a topology's file: {_FILES}", "NAME|FILE"),
    ] = None,
) -> None:
    """Show a running network, or a topology's file with all that groupflow chose."""
    from groupflow.cli import status
    from groupflow.data import TOPOLOGIES
    from groupflow.lab.links import COLUMNS, links_of

    # The list of networks is root's; a file needs no root.
    is_file = bool({"/", "."} & set(network or "")) or (TOPOLOGIES / f"{network}.yaml").is_file()
    is_file &= os.geteuid() != 0
    if network is not None and (is_file or network not in {each.name for each in running_networks()}):
        from groupflow.files.topology import load
        from groupflow.files.variants import render

        if common.json:
            raise UsageError("--json: a topology is shown as YAML; leave it out")
        print(render(load(network), whole=True), end="")
        return
    entry = find(_one(network, common.net))
    common = replace(common, net=entry.name)
    links = links_of(entry).rows()
    if common.json:
        of_controller = {part: call(common, "GET", path) for part, path in status.PATHS.items() if entry.api}
        print_json((of_controller or asdict(entry)) | {"links": links, "tcp": _tcp(entry)})
        return
    print(f"{entry.name}: {entry.topology}, switches {', '.join(entry.switches)} ({entry.switch})\n")
    hosts = zip(entry.addresses.items(), _tcp(entry).values(), strict=True)
    print_table(
        [{"host": host, "address": address, "tcp": tcp} for (host, address), tcp in hosts],
        ("host", "address", "tcp"),
    )
    print()
    print_table(links, COLUMNS)
    if entry.api is not None:
        print()
        status.show(common)


def _tcp(entry: Entry) -> dict[str, str | None]:
    from groupflow.lab.host import tcp

    return {name: tcp(entry.launcher(name)) for name in entry.hosts}


def change(
    common: Common,
    link: Annotated[
        tuple[str, ...],
        Help("a link, s1-s2 or an interface of it, and its changes: rate=, delay=, loss=, queue=, up, down",
             "LINK CHANGE"),
    ] = (),
) -> None:  # fmt: skip
    """Change a link of a running network, or, without words, show all of them."""
    from groupflow.lab.links import COLUMNS, asked, links_of

    links = links_of(find(common.net))
    chosen = links.topology.links
    if link:
        chosen, wanted = asked(links.topology, link)
        for each in chosen if wanted else ():
            links.change(each, wanted)
    named = {f"{each.a.interface} {each.b.interface}" for each in chosen}
    listed(common, [row for row in links.rows() if row["interfaces"] in named], COLUMNS)


def execute(
    common: Common,
    node: Annotated[str, Help("a host, or a switch: s1", "NODE")],
    program: Annotated[tuple[str, ...], Help("the program and its arguments", "COMMAND")] = (),
) -> None:
    """Run a program in a host, or beside the switches."""
    from groupflow.lab.host import environment

    entry = find(common.net)
    if not program:
        raise UsageError("no program; write: groupflow net exec h1 ping -c 3 10.0.2.1")
    if node not in entry.hosts and node not in entry.switches:
        known = ", ".join((*entry.hosts, *entry.switches))
        raise InvalidError(f"no node {node} in {entry.name}; nodes are {known}")
    if os.geteuid() != 0:
        raise Error("root is needed to enter a host; use sudo")
    path = path_with_programs()
    command = entry.command(node, program, path)
    os.execvpe(command[0], command, os.environ | environment(node) | {"PATH": path})


def down(common: Common, name: Name = None) -> None:
    """End a network."""
    from groupflow.lab.named import end

    entry = find(_one(name, common.net))
    gone = end(entry, _END_SECONDS, lambda: entry.name in {each.name for each in running_networks()})
    if not gone:
        raise Error(f"{entry.name} (pid {entry.pid}) does not end; see {entry.folder}")


def _one(name: str | None, net: str | None) -> str | None:
    if name and net:
        raise UsageError("--net: the network is named already; leave one out")
    return name or net


def play(
    file: Annotated[Path, Help("recording that --record of net up, controller run or sim run made")],
    *,
    listen: Annotated[ListenAddress, Help("address of the page")] = ("127.0.0.1", 9589),
) -> None:
    """Show a recording of a network or a simulation in a browser (no root)."""
    import asyncio

    from groupflow.agents.api_token import page, published
    from groupflow.control.api import server
    from groupflow.control.api.access import Guard
    from groupflow.control.api.page import make_player
    from groupflow.control.live.recording import Recording

    async def serve(token: str) -> None:
        print(f"{file}: {len(recording.times)} moments, at {page(url)}", flush=True)
        guard = Guard(make_player(recording), token, names=listen[:1])
        serving = asyncio.create_task(server.serve_app(guard, listener))
        on_stop(serving.cancel)
        await asyncio.wait([serving])
        if not serving.cancelled():
            serving.result()

    recording = Recording.load(file)
    with (
        server.listen(*listen, option="--listen") as listener,
        published([url := server.url_of(listener)]) as token,
    ):
        asyncio.run(serve(token))
