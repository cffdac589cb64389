"""Looks at the network twice a second while somebody watches, and tells all who watch the same."""

import asyncio
import json
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Mapping

from groupflow.control.api.agents import agent_views
from groupflow.control.api.views import session_detail
from groupflow.control.controller import Controller
from groupflow.control.diffusion.readings import Reading
from groupflow.control.events import Event
from groupflow.control.live.frames import Form, Meter, Stats, hop, topology_form
from groupflow.control.live.sockets import SwitchSockets
from groupflow.errors import InvalidError, reason
from groupflow.p4rt.connection import ConnectionFailedError
from groupflow.p4rt.entries import read_counter

log = logging.getLogger(__name__)

PERIOD = 0.5
IDLE_SHARE = 12
"""the least pause after a look, as a multiple of the look's duration"""
LONGEST_PAUSE = 1.0
HISTORY = 120
"""frames that a new viewer gets at once"""
WAITING = 8
"""frames that may wait for a viewer; a viewer that does not read misses the oldest"""
MOST_VIEWERS = 64
COUNTERS_AT_ONCE = 6
"""switches whose drop counters are read at a look, in turn: each costs a call of gRPC"""


class Eye:
    """Makes frames of a controller's network. Statistics of switches are given."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._meter = Meter()
        self._dropped: dict[str, dict[str, int]] = {}
        self._turn = 0

    async def frame(self, now: float, stats: Mapping[str, tuple[Stats, int]], events: list[Event]) -> Form:
        """The network now. `stats`: statistics and the switch's clock (ns) of the switches that gave any."""
        controller = self._controller
        await self._read_drops()
        rows = await asyncio.gather(*map(self._flow, list(controller.diffusion.flows)))
        agents = [view.model_dump(exclude={"ordered"}) for view in await agent_views(controller)]
        sessions = list(controller.manager.sessions.values())
        return {
            "time": now,
            "switches": {name: self._switch(name, stats.get(name)) for name in controller.devices},
            "sessions": [session_detail(controller, each).model_dump() for each in sessions],
            "flows": [row for row in rows if row],
            "agents": agents,
            "events": events,
        }

    def _switch(self, name: str, found: tuple[Stats, int] | None) -> Form:
        device = self._controller.devices[name]
        form: Form = {"state": device.state}
        if device.state != "up":
            form["problem"] = device.problem
        if found:
            form |= self._meter.switch(name, *found)
        if name in self._dropped:  # the program's own reasons, in the place of their sum
            form["drops"] = {k: v for k, v in form.get("drops", {}).items() if k != "ingress"}
            form["drops"] |= self._dropped[name]
        return form

    async def _flow(self, number: int) -> Form | None:
        service = self._controller.diffusion
        flow = service.flows.get(number)
        if flow is None:
            return None
        readings: list[Reading] = await service.readings(number)
        return {"flow": number, "name": flow.record.request.name, "hops": [hop(each) for each in readings]}

    async def _read_drops(self) -> None:
        controller, names = self._controller, list(self._controller.devices)
        counter = controller.program.counters.get("drops")
        if counter is None:
            return
        chosen = {names[(self._turn + step) % len(names)] for step in range(COUNTERS_AT_ONCE)}
        self._turn += COUNTERS_AT_ONCE

        async def read(name: str) -> None:
            try:
                counts = await read_counter(controller.program, counter, controller.devices[name].query)
            except ConnectionFailedError:
                return
            reasons = counter.reasons
            counted = {reasons[cell[0]]: packets for cell, packets, _ in counts if cell[0] < len(reasons)}
            self._dropped[name] = {what: counted[what] for what in counted if what != "none"}

        await asyncio.gather(*map(read, chosen))


class Live:
    """The frames of a controller, for any number of viewers. Works only while there are any."""

    def __init__(self, controller: Controller, sockets: SwitchSockets | None = None) -> None:
        self.topology = topology_form(controller.topology, "controller")
        self._controller = controller
        self._sockets = sockets
        self._viewers: set[_Viewer] = set()
        self._history: deque[str] = deque(maxlen=HISTORY)
        self._task: asyncio.Task[None] | None = None

    async def frames(self) -> AsyncGenerator[str]:
        """Frames as JSON, from the last minute on, until closed; none for a viewer too many."""
        if self.crowded:
            return
        viewer = _Viewer(WAITING)
        self._viewers.add(viewer)
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="live")
        try:
            for text in list(self._history):
                yield text
            while True:
                yield await viewer.get()
        finally:
            self._viewers.discard(viewer)
            if not self._viewers:
                self._task.cancel()
                self._task = None

    async def trace(self, switch: str, wanted: Form, seconds: float) -> Form | None:
        """The way of the next packet through a switch; None: none came. Raises InvalidError."""
        if self._sockets is None or switch not in self.topology["switches"]:
            raise InvalidError(
                f"switch {switch} has no traces; give `controller run` the --sockets of gfswitch"
            )
        try:
            return await self._sockets.trace(switch, wanted, seconds)
        except OSError as error:
            raise InvalidError(
                f"switch {switch} gives no trace, as only gfswitch does: {reason(error)}"
            ) from None
        except ValueError as error:
            raise InvalidError(str(error)) from None

    @property
    def crowded(self) -> bool:
        """Whether as many watch as may."""
        return len(self._viewers) >= MOST_VIEWERS

    async def _run(self) -> None:
        eye, loop = Eye(self._controller), asyncio.get_running_loop()
        self._history.clear()
        try:
            with self._controller.events.subscribed() as subscriber:
                events = self._controller.events.recent()
                while True:
                    began = loop.time()
                    try:
                        text = json.dumps(await eye.frame(time.time(), await self._stats(), events))
                    except Exception:  # a defect of the view must not end it for good
                        log.exception("the live page missed a look at the network")
                        text = None
                    if text is not None:
                        events = []
                        self._history.append(text)
                        for viewer in self._viewers:
                            viewer.tell(text)
                    spent = loop.time() - began
                    await asyncio.sleep(max(PERIOD - spent, min(IDLE_SHARE * spent, LONGEST_PAUSE)))
                    events += subscriber.waiting()
        finally:
            if self._sockets:
                self._sockets.close()

    async def _stats(self) -> dict[str, tuple[Stats, int]]:
        if self._sockets is None:
            return {}
        names = list(self._controller.devices)
        found = await asyncio.gather(*map(self._sockets.stats, names))
        return {name: (each, each.uptime_ns) for name, each in zip(names, found, strict=True) if each}


class _Viewer(asyncio.Queue[str]):
    def tell(self, text: str) -> None:
        if self.full():
            self.get_nowait()
        self.put_nowait(text)
