"""Records a simulation for the page: the same frames as of a running network, in virtual time."""

import asyncio
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groupflow.control.diffusion.readings import reading
from groupflow.control.live.frames import Form, Meter, Stats, empty_frame, hop, topology_form
from groupflow.control.live.recording import Recorder
from groupflow.control.live.sampler import Eye
from groupflow.sim.model import Scenario

if TYPE_CHECKING:
    from groupflow._native import NativeSim
    from groupflow.control.controller import Controller

MOST_FRAMES = 2000
SHOWN_PER_SECOND = 10
"""frames that a viewer sees in a second, before they choose another speed"""


class SimRecorder:
    """Looks at a simulated network at each multiple of `period_ns`."""

    def __init__(self, sim: "NativeSim", scenario: Scenario, path: Path) -> None:
        self.period_ns = max(scenario.sample_ns, -(-scenario.duration_ns // MOST_FRAMES))
        speed = self.period_ns * SHOWN_PER_SECOND / 1e9
        form = topology_form(scenario.topology, "netsim", speed=speed, about=scenario.name)
        self.file = Recorder(path, form)
        self._sim = sim
        self._scenario = scenario
        self._meter = Meter()
        self._delivered: dict[str, int] = {}
        self.next_ns = 0
        """the time of the next look"""

    async def follow(self, controller: "Controller") -> None:
        """Records a run with a controller, whose clock is the simulator's, until cancelled."""
        eye = Eye(controller)
        loop = asyncio.get_running_loop()
        with controller.events.subscribed() as events:
            while True:
                now_ns = round(loop.time() * 1e9)
                told = [event | {"time": loop.time()} for event in events.waiting()]
                self._add(await eye.frame(now_ns / 1e9, self._stats(now_ns), told))
                await asyncio.sleep(self.period_ns / 1e9)

    def look(self, now_ns: int) -> None:
        """Records a moment of a run without a controller, once its time has come."""
        if now_ns < self.next_ns:
            return
        self.next_ns = now_ns + self.period_ns
        switches: dict[str, Form] = {name: {"state": "up"} for name in self._scenario.topology.switches}
        for name, kind in self._scenario.kinds.items():
            if kind != "p4":
                switches[name]["problem"] = f"a {kind}, without P4"
        for name, (stats, clock) in self._stats(now_ns).items():
            switches[name] |= self._meter.switch(name, stats, clock)
        self._add(empty_frame(now_ns / 1e9) | {"switches": switches})

    def _add(self, frame: Form) -> None:
        flows = [self._flow(number, name) for number, name in enumerate(self._scenario.controlled, 1)]
        frame["flows"] += flows
        frame["traffic"] = [self._traffic(each) for each in json.loads(self._sim.summary())["flows"]]
        self.file.add(json.dumps(frame))

    def _stats(self, now_ns: int) -> Mapping[str, tuple[Stats, int]]:
        names = [name for name in self._scenario.topology.switches if self._scenario.kind(name) == "p4"]
        return {name: (Stats.model_validate_json(self._sim.stats(name)), now_ns) for name in names}

    def _flow(self, number: int, name: str) -> Form:
        rows = [
            reading(part, branch, partial(self._sim.register, part.switch))
            for part in self._scenario.controlled[name]
            for branch in part.branches
        ]
        return {"flow": number, "name": name, "hops": [hop(row) for row in rows]}

    def _traffic(self, flow: Mapping[str, Any]) -> Form:
        name, delivered = flow["flow"], flow["delivered_bytes"]
        before, self._delivered[name] = self._delivered.get(name, 0), delivered
        rate = None if delivered is None else round((delivered - before) * 8 * 10**9 / self.period_ns)
        return {
            "name": name,
            "sent": flow["sent_packets"],
            "delivered": flow["delivered_packets"],
            "rate": rate,
            "again": flow["retransmissions"],
            "finished": flow["finished"],
        }
