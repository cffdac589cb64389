"""`groupflow bone`: a hub that sends files to many caches at once, the caches, and orders to a hub."""

import asyncio
import json
import sys
import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, TypeAlias

from groupflow.agents.bone.options import HUB_HTTP, HubOptions, RimOptions
from groupflow.cli.common import Common, check_folder, log_to_stderr, on_stop, shown
from groupflow.errors import Error, Kind
from groupflow.model.fields import Help

if TYPE_CHECKING:
    from groupflow.agents.bone.orders import FileView
    from groupflow.agents.events import Event

_POLL_S = 0.5

To: TypeAlias = Annotated[str, Help("address of the hub or rim", "HOST:PORT")]


def hub(common: Common, *, options: HubOptions) -> None:
    """Send new files of a folder, files that a rim asks for, and ordered files, until stopped."""
    _run(options, common)


def rim(common: Common, *, options: RimOptions) -> None:
    """Cache the files that a hub sends and serve them over HTTP, until stopped."""
    _run(options, common)


def _run(options: HubOptions | RimOptions, common: Common) -> None:
    check_folder(options.folder, "--dir")
    log_to_stderr(max(common.level, 30) if not common.verbose else common.level)
    asyncio.run(_stay(replace(options, orders=common.api is not None), common))


async def _stay(options: HubOptions | RimOptions, common: Common) -> None:
    from groupflow.agents.agent_process import AgentProcess
    from groupflow.agents.bone.registration import bone_registered

    show = shown(common, "bone")

    def hear(event: "Event") -> None:
        if event.name != "holds":  # for the controller, each second
            show(event)

    stop = asyncio.Event()
    on_stop(stop.set)
    async with (
        AgentProcess(options, on_event=hear, piped_input=options.orders) as agent,
        bone_registered(agent, common.api),
    ):
        await agent.until(stop)


def send(
    common: Common,
    name: Annotated[str, Help("name of the file in the hub's folder")],
    *,
    to: To = HUB_HTTP,
    wait: Annotated[bool, Help("wait until the file is sent; exit 3 if a rim is lost")] = False,
) -> None:
    """Have a hub send a file of its folder."""
    from groupflow.agents.bone.orders import send_file

    view = send_file(to, name)
    if wait:
        view = _watch(to, view)
    if common.json:
        print(json.dumps(asdict(view)))
    elif not common.quiet:
        print(f"bone: {view.name}: {view.state}", file=sys.stderr)
    if view.state == "failed":
        raise Error(f"{view.name}: {view.error or 'not sent'}; see the hub's messages")
    if wait and view.error:
        raise Error(f"{view.name}: complete {view.error}: lost on the way", Kind.LOST)


def _watch(at: str, view: "FileView") -> "FileView":
    """Shows the progress of a file until the file is sent. Raises Error."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

    from groupflow.agents.bone.orders import show_file

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(f"{view.name}: {view.state}", total=view.size)
        while view.state in ("hashing", "queued", "sending"):
            time.sleep(_POLL_S)
            view = show_file(at, view.name)
            bar.update(task, completed=view.done_bytes, description=f"{view.name}: {view.state}")
    return view


def list_all(common: Common, *, to: To = HUB_HTTP) -> None:
    """List the files of a hub or a rim."""
    from groupflow.agents.bone.orders import list_files
    from groupflow.cli.common import print_table

    listing = list_files(to)
    if common.json:
        print(json.dumps(asdict(listing)))
    else:
        print_table(map(asdict, listing.files), ["name", "size", "state", "sha256", "error"])
