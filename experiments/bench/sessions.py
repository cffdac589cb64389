"""Time to install a thousand sessions on two gfswitches, and to restore them after a switch restarts.

The switches have no interfaces; joins are handed to the controller as if the switches had punted them.
"""

import asyncio
import time
from contextlib import ExitStack

from experiments.bench.tools import Figure
from groupflow.agents.agent_process import find_program
from groupflow.control.controller import Controller
from groupflow.control.sessions.admission import Options, token
from groupflow.data import P4_JSON, P4INFO
from groupflow.files import variants
from groupflow.lab.frames import request_frame
from groupflow.model.session import NewSession
from groupflow.model.topology import Topology
from groupflow.p4rt.program import Program
from groupflow.processes import Daemon
from groupflow.store.interface import MemoryStore
from groupflow.study import RunFailedError

_SESSIONS = 1000
_MEMBERS = ("ma1", "mb1", "mb2", "mc1", "md1")  # the first one sends
_DEADLINE = 60.0


def _switch(form: Topology, name: str) -> Daemon:
    switch, program = form.switches[name], str(find_program("gfswitch"))
    command = [program, "--device-id", str(switch.device_id), "--no-p4", "--control-socket", "none"]
    command += ["--", "--grpc-server-addr", switch.grpc, "--cpu-port", "510"]
    return Daemon(name, command, None)


async def _until(controller: Controller, state: str, *names: str) -> None:
    async with asyncio.timeout(_DEADLINE):
        while not all(controller.devices[name].state == state for name in names):  # noqa: ASYNC110
            await asyncio.sleep(0.002)


async def _join_all(controller: Controller, form: Topology) -> None:
    tokens = {
        record.id: token(controller.manager.secret, record, "join")
        for record in [
            (await controller.manager.create(NewSession(id=i))).record for i in range(1, _SESSIONS + 1)
        ]
    }
    request = 0
    for member in _MEMBERS:
        host = form.hosts[member]
        for session, text in tokens.items():
            request += 1
            frame = request_frame(
                "join",
                eth_src=str(host.mac),
                ip_src=str(host.ip),
                udp_src=10_000 + session,
                session=session,
                request_id=request,
                role="sender" if member == _MEMBERS[0] else "receiver",
                name=member,
                token=text,
            )
            controller.control.handle(host.switch, host.port, frame)
            if request % 50 == 0:
                await asyncio.sleep(0)
    await controller.control.idle()


async def _measure() -> list[Figure]:
    form = variants.named("fig5")
    p4 = Program.load(P4INFO, P4_JSON)
    options = Options(restart_grace=600, member_timeout=600)
    with ExitStack() as stack:
        switches = {name: stack.enter_context(_switch(form, name)) for name in form.switches}
        controller = await Controller.open(form, p4, MemoryStore(), options)
        running = asyncio.create_task(controller.run())
        await _until(controller, "up", *form.switches)

        start = time.perf_counter()
        await _join_all(controller, form)
        install = time.perf_counter() - start
        joined = sum(len(controller.manager.get(number).members) for number in range(1, _SESSIONS + 1))
        if joined < _SESSIONS * len(_MEMBERS):
            raise RunFailedError(f"only {joined} of {_SESSIONS * len(_MEMBERS)} members joined")

        await asyncio.to_thread(switches["s1"].stop)
        await _until(controller, "down", "s1")
        switches["s1"].start()
        start = time.perf_counter()
        await _until(controller, "up", "s1")
        restore = time.perf_counter() - start

        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    note = f"{_SESSIONS} sessions, {len(_MEMBERS)} members each, 2 switches"
    return [
        Figure("install 1,000 sessions", round(install, 2), "s", note),
        Figure("restore a restarted switch", round(restore, 2), "s", "from its start on"),
    ]


def figures() -> list[Figure]:
    """Times of both. The ports of topologies/fig5.yaml must be free."""
    return asyncio.run(_measure())
