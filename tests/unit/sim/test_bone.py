"""Round multicast between hosts of a simulated network."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

from groupflow import sim
from groupflow.files.topology import parse
from groupflow.sim.bone import Method, Repair

SECOND = 10**9
SIZE = 100_000


def scenario(bone: sim.Bone, error_bytes: int | None = None) -> sim.Scenario:
    """A hub and three rims around a satellite, 1 Mb/s."""
    hosts = ("hub", "r0", "r1", "r2")
    wires = [{"ends": [h, "sat"], "rate": "1mbit", "delay": "250ms", "queue": 100} for h in hosts]
    topology = {
        "name": "bone",
        "switches": {"sat": {"device_id": 1, "grpc": 9600}},
        "hosts": {name: {"ip": f"10.0.{n + 1}.1/24"} for n, name in enumerate(hosts)},
        "links": wires,
    }
    return sim.Scenario(
        name="bone",
        topology=parse(yaml.safe_dump(topology, sort_keys=False), "bone"),
        duration_ns=600 * SECOND,
        sample_ns=600 * SECOND,
        kinds={"sat": "broadcast"},
        flows=(),
        extras={n: sim.LinkExtra(error_bytes=error_bytes) for n in (1, 2, 3)},
        bones=(bone,),
    )


BONE = sim.Bone(
    "bone", "hub", ("r0", "r1", "r2"), SIZE, interval_ns=20_000_000, result_wait_ns=2 * SECOND,
    join_wait_ns=2 * SECOND,
)  # fmt: skip


@pytest.mark.parametrize("method", ["scheduled", "unscheduled", "unicast"])
@pytest.mark.parametrize("repair", ["go_back_n", "selective"])
def test_every_rim_gets_the_file(method: Method, repair: Repair) -> None:
    results = sim.run(scenario(replace(BONE, method=method, repair=repair), error_bytes=100_000))
    transfer = results.bones["bone"]
    assert transfer.done
    for rim in BONE.rims:
        flow = results.flows[BONE.rim(rim)]
        assert flow.finished and flow.delivered_bytes == SIZE
    assert results.dropped(reason="malformed") == 0
    assert results.dropped(node="sat", reason="damaged") > 0


def test_multicast_is_sent_once_however_many_listen() -> None:
    transfer = sim.run(scenario(BONE)).bones["bone"]
    assert (transfer.sent_bytes, transfer.complete, transfer.lost) == (SIZE, 3, 0)
    unicast = sim.run(scenario(replace(BONE, method="unicast"))).bones["bone"]
    assert (unicast.sent_bytes, unicast.complete) == (3 * SIZE, 3)
    assert transfer.duration_s < unicast.duration_s / 2


def test_rims_that_forget_cost_more_with_go_back_n_alone() -> None:
    def sent(**changes: Any) -> int:
        bone = replace(BONE, method="unscheduled", **changes)
        return sim.run(scenario(bone, error_bytes=50_000)).bones["bone"].sent_bytes

    assert sent(forgets=True) > 1.1 * sent()
    assert sent(forgets=True, repair="selective") == sent(repair="selective")


def test_rims_come_late_and_leave() -> None:
    spans = {"r1": (3 * SECOND, None), "r2": (0, 4 * SECOND)}
    results = sim.run(scenario(replace(BONE, spans_ns=spans)))
    transfer = results.bones["bone"]
    assert (transfer.done, transfer.complete, transfer.lost) == (True, 2, 0)
    assert results.flows[BONE.rim("r1")].delivered_bytes == SIZE
    assert results.flows[BONE.rim("r2")].finished is False


def test_bad_input_is_refused_by_name() -> None:
    for change, said in (
        ({"packet": 1401}, r"bones\.bone\.role\.packet"),
        ({"interval_ns": 0}, r"bones\.bone\.role\.interval_ns"),
        ({"hub": "sat"}, r"bones\.bone\.host"),
    ):
        with pytest.raises(sim.ScenarioError, match=said):
            sim.run(scenario(replace(BONE, **change)))  # pyright: ignore[reportArgumentType]
    with pytest.raises(sim.ScenarioError, match="error_bytes"):
        sim.run(scenario(BONE, error_bytes=0))
