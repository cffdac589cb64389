"""`groupflow gather serve` and `groupflow gather send`: many clients, and one server that tunes them."""

import asyncio
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from signal import SIGTERM
from ssl import create_default_context
from typing import TYPE_CHECKING, Annotated

from groupflow.agents.gather.options import GatherSendOptions, ServeOptions
from groupflow.cli.access import PLAIN, Certificate, Pin, check_pem, needed
from groupflow.cli.common import Common, check_folder, log_to_stderr, on_stop, shown
from groupflow.cli.frame import one_of
from groupflow.cli.transfer import check_file
from groupflow.errors import InvalidError, UsageError
from groupflow.model import ports
from groupflow.model.fields import Help
from groupflow.model.values import ListenAddress

if TYPE_CHECKING:
    from groupflow.agents.gather.service import Director

DEFAULT_API = ("127.0.0.1", ports.GATHER_API)
"""not the controller's default: a server that gathers may run on another machine"""


def serve(
    common: Common,
    *,
    clients: Annotated[
        Path | None, Help("YAML list of clients and targets; or --api: the controller's list")
    ] = None,
    options: ServeOptions,
    discard: Annotated[bool, Help("count the bytes of streams and keep nothing")] = False,
    certificate: Certificate,
    plain: Annotated[bool, PLAIN] = False,
    policy: Annotated[
        str | None, Help("policy that tunes the clients of --clients (default: sakajiri)")
    ] = None,
    policy_file: Annotated[tuple[Path, ...], Help("Python file with policies of your own")] = (),
    rest: Annotated[ListenAddress, Help("address of the REST API, with --clients")] = DEFAULT_API,
) -> None:
    """Receive the streams of listed clients and tune them, until stopped."""
    one_of(clients=clients, api=common.api)
    one_of(out=options.out, discard=discard)
    check_folder(options.out)
    if common.api and (policy or policy_file):
        raise UsageError("--policy and --policy-file are the controller's; leave them out")
    if plain and certificate.tls_cert:
        raise UsageError("--plain and --tls-cert exclude each other; leave one out")
    named = certificate.given
    beside = clients or Path("gather")
    made = None if plain else (beside.with_suffix(".crt"), beside.with_suffix(".key"))
    options = replace(options, tls=named or made)
    log_to_stderr(common.level)
    if clients is None:
        asyncio.run(_serve_controlled(options, common))
    else:
        asyncio.run(_serve_alone(clients, options, policy, policy_file, rest, common))


async def _serve_controlled(options: ServeOptions, common: Common) -> None:
    from groupflow.agents.gather.service import ControllerDirector

    assert common.api is not None
    async with ControllerDirector(common.api) as director:
        await _serve(director, options, common)


async def _serve_alone(
    file: Path,
    options: ServeOptions,
    policy: str | None,
    policy_files: tuple[Path, ...],
    rest: tuple[str, int],
    common: Common,
) -> None:
    from groupflow.agents.api_token import published
    from groupflow.control.api.access import Guard
    from groupflow.control.api.gather import make_gather_app
    from groupflow.control.api.server import is_beyond, listen, serve_app, url_of
    from groupflow.control.events import Events
    from groupflow.control.gather import clients
    from groupflow.control.gather.gathering import Gathering
    from groupflow.control.gather.plugin import load_policies
    from groupflow.model.client import DEFAULT_POLICY
    from groupflow.store.interface import MemoryStore

    policies, chosen = load_policies(policy_files), policy or DEFAULT_POLICY
    if chosen not in policies:
        raise InvalidError(f"--policy {chosen}: unknown; the policies are {', '.join(policies)}")
    listed = clients.load(file)
    options = replace(options, max_clients=options.max_clients or max(64, len(listed.clients)))
    gathering = Gathering(MemoryStore(), Events(), policies, listed=listed, policy=chosen)
    api = listen(*rest, option="--rest")
    if is_beyond(api):
        raise UsageError(f"--rest {rest[0]}: it is not encrypted; write 127.0.0.1:{rest[1]}")
    with published([url_of(api)]) as token:
        serving = asyncio.create_task(serve_app(Guard(make_gather_app(gathering), token), api))
        if not common.quiet and not common.json:
            print(
                f"gather: API at {url_of(api)}, for `groupflow client list --api`",
                file=sys.stderr,
                flush=True,
            )
        try:
            await _serve(gathering, options, common)
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)


async def _serve(director: "Director", options: ServeOptions, common: Common) -> None:
    from groupflow.agents.gather.service import GatherService

    stop = asyncio.Event()
    on_stop(stop.set)
    # A refused tuning is repeated each round: the director logs it once.
    show = shown(common, "gather", but=("tune_refused",))
    async with GatherService(director, options, on_event=show) as service:
        await service.ready()
        await service.agent.until(stop)


def send(common: Common, *, options: GatherSendOptions, pin: Pin) -> None:
    """Send a file, or stdin, to a server that gathers."""
    check_file(options.file, pipes=True)
    if options.tls_ca is not None:
        check_pem(f"--tls-ca {options.tls_ca}", partial(create_default_context, cafile=options.tls_ca))
    if pin.plain:
        options = replace(options, tls_ca=None, tls_pin=None)
    else:
        options = replace(options, tls_pin=None if options.tls_ca else pin.given)
    needed(options.token)
    asyncio.run(_send(options, common))


async def _send(options: GatherSendOptions, common: Common) -> None:
    from groupflow.agents.agent_process import AgentProcess

    show = shown(common, "gather", but=("started", "stripe_lost"))
    async with AgentProcess(options, on_event=show, inherit_input=options.file is None) as agent:
        on_stop(lambda: agent.signal(SIGTERM))
        await agent.finish()
