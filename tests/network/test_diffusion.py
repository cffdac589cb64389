"""Diffusion-type flow control on running switches: link delays are measured, and packets wait all along."""

import asyncio
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from groupflow import units
from groupflow.agents.agent_process import find_program
from groupflow.control.diffusion.bmv2_agent import QUEUE_RATE, ThriftClient
from groupflow.files import variants
from groupflow.lab.switches import BMV2, thrift_port, tick_interfaces
from groupflow.model.topology import Topology
from groupflow.processes import GROUPFLOW, Daemon
from tests.network.harness import Lab, MakeLab, eventually, laboratory

PORT = 5001
BURST = """
import socket, sys, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
start = time.monotonic()
for number in range(int(sys.argv[2])):
    time.sleep(max(0.0, start + number / int(sys.argv[3]) - time.monotonic()))
    out.sendto(bytes(1472), (sys.argv[1], 5001))
"""


def bottleneck() -> Topology:
    """A line without loss, whose link from s2 to s3 has a tenth of the rate."""
    line = variants.with_loss(variants.named("line"), 0)
    slow = [
        replace(link, spec=replace(link.spec, rate=10_000_000)) if link.name == "s2-s3" else link
        for link in line.links
    ]
    return replace(line, links=tuple(slow))


def state(lab: Lab) -> list[dict[str, Any]]:
    return cast(list[dict[str, Any]], lab.controller.get("/diffusion/1/state"))


def start_rate_agents(lab: Lab) -> None:
    for switch in lab.topology.switches.values():
        words = ["switch", "bmv2-agent", switch.name, "--thrift", f"127.0.0.1:{thrift_port(switch)}"]
        words += ["--iface", tick_interfaces(switch)[1], "--api", lab.controller.url]
        log = lab.folder / f"agent-{switch.name}.log"
        daemon = lab.network.start_daemon(Daemon(f"rate agent of {switch.name}", [*GROUPFLOW, *words], log))
        daemon.wait_ready(lambda daemon=daemon: "ready" in daemon.output())


@pytest.mark.skipif(shutil.which(BMV2) is None, reason="simple_switch_grpc is not installed")
async def test_rate_agents_carry_the_control_on_bmv2(tmp_path: Path) -> None:
    """Feedback goes from switch to switch, and the agents' rates let a burst through."""
    with laboratory(bottleneck(), tmp_path, "bmv2") as lab:
        await asyncio.to_thread(start_rate_agents, lab)
        request = {"kind": "flow", "src": "h1", "dst": "h2", "protocol": "udp", "dst_port": PORT, "d": "0.1"}
        made = cast(dict[str, Any], lab.controller.post("/diffusion", request))
        assert [hop["d_i"] for hop in made["hops"][:2]] == [5.0, 5.0]  # of the agents' period, 20 ms

        def heard() -> bool:
            counters = cast(dict[str, Any], lab.controller.get("/switches/s1/counters"))
            return bool(counters["feedback_counter"]) and counters["feedback_counter"][0]["packets"] > 20

        await eventually(heard, 20, "s1 hears of s2")
        command = [sys.executable, "-c", BURST, str(lab.topology.hosts["h2"].ip), "500", "500"]
        await asyncio.to_thread(lab.network.hosts["h1"].run, command)
        counters = cast(dict[str, Any], lab.controller.get("/switches/s3/counters"))
        assert counters["flow_counter"][0]["packets"] > 400
        client = ThriftClient("127.0.0.1", thrift_port(lab.topology.switches["s1"]))
        port = lab.topology.port_to("s1", "s2")
        rate = client.read_registers([(QUEUE_RATE, port * 8 + 1)])[0] / 64
        client.close()
        assert 100 < rate < 2000  # about the 826 packets/s of 10 Mb/s


async def test_packets_wait_all_along_instead_of_at_the_bottleneck(make_lab: MakeLab) -> None:
    with make_lab(bottleneck()) as lab:
        request = {"kind": "flow", "src": "h1", "dst": "h2", "protocol": "udp", "dst_port": PORT, "d": "0.1"}
        made = cast(dict[str, Any], lab.controller.post("/diffusion", request))
        hops = made["hops"]
        assert [(hop["switch"], hop["to"], hop["delay_from"]) for hop in hops] == [
            ("s1", "s2", "measured"),
            ("s2", "s3", "measured"),
            ("s3", "h2", "topology"),
        ]
        assert all(5_000_000 <= units.parse_delay(hop["delay"]) < 6_500_000 for hop in hops[:2]), hops
        await eventually(lambda: state(lab)[0]["r"] is not None, 5, "feedback is heard")

        command = [sys.executable, "-c", BURST, str(lab.topology.hosts["h2"].ip), "3000", "1650"]
        sending = asyncio.create_task(asyncio.to_thread(lab.network.hosts["h1"].run, command))
        await eventually(lambda: min(hop["n"] for hop in state(lab)[:2]) > 60, 10, "both wait")
        first, second, last = state(lab)
        assert abs(first["n"] - second["n"]) < 60
        assert first["j"] < 2000 and last["n"] < 20
        await sending

        lab.controller.api.request("DELETE", "/diffusion/1")
        assert lab.controller.get("/diffusion") == []


def shaping(lab: Lab, host: str, flow: str, log: str = "shape") -> Daemon:
    """`gfagent shape` on a host, not started."""
    iface = lab.topology.hosts[host].interface
    command = [*lab.network.hosts[host].launcher(), str(find_program("gfagent")), "shape", "--iface", iface]
    return Daemon(f"shape on {host}", [*command, "--flow", flow, "--json"], lab.folder / f"{log}-{host}.log")


def tc(lab: Lab, host: str, *words: str) -> str:
    return lab.network.hosts[host].run(["tc", *words]).stdout


async def test_a_host_shapes_to_the_rate_that_its_switch_reports(make_lab: MakeLab) -> None:
    """Packets of a program that knows nothing of it wait in the host, and not in the network (eq. 9)."""
    with make_lab(bottleneck()) as lab:
        request = {"kind": "flow", "src": "h1", "dst": "h2", "protocol": "udp", "dst_port": PORT, "d": "0.1"}
        made = cast(dict[str, Any], lab.controller.post("/diffusion", request | {"external": True}))
        address, iface = lab.topology.hosts["h2"].ip, lab.topology.hosts["h1"].interface
        shaper = shaping(lab, "h1", f"{made['flow']}=udp:{address}:{PORT}")
        lab.network.start_daemon(shaper)

        def rate() -> str:
            """The kernel's rate of the flow, as `tc` writes it."""
            words = tc(lab, "h1", "class", "show", "dev", iface).split()
            return words[words.index("rate") + 1] if "rate" in words else ""

        await eventually(lambda: rate() not in ("", "400Gbit"), 10, "a report has set a rate")
        command = [sys.executable, "-c", BURST, str(address), "3000", "1650"]
        sending = asyncio.create_task(asyncio.to_thread(lab.network.hosts["h1"].run, command))

        def backlog() -> int:
            words = tc(lab, "h1", "-s", "class", "show", "dev", iface).split()
            return int(words[words.index("backlog") + 2].removesuffix("p"))

        # The kernel has the program wait when its socket's buffer is full, which is some 90 packets.
        await eventually(lambda: backlog() > 60, 10, "packets wait in the host")
        assert sum(hop["n"] for hop in state(lab)) < 60
        await sending
        assert rate().endswith(("Kbit", "Mbit")), rate()

        lab.controller.api.request("DELETE", "/diffusion/1")
        await eventually(lambda: rate() == "400Gbit", 10, "without reports there is no limit")
        shaper.stop()
        assert "htb" not in tc(lab, "h1", "qdisc", "show", "dev", iface)


async def test_a_second_shaper_leaves_the_first_alone(make_lab: MakeLab) -> None:
    with make_lab(bottleneck()) as lab:
        iface = lab.topology.hosts["h1"].interface
        lab.network.start_daemon(shaping(lab, "h1", f"1=udp:10.0.2.1:{PORT}"))
        await eventually(lambda: "htb" in tc(lab, "h1", "qdisc", "show", "dev", iface), 10, "it shapes")
        second = shaping(lab, "h1", f"2=udp:10.0.2.1:{PORT}", log="second")
        second.start()
        await eventually(lambda: not second.alive, 10, "it ends")
        last = second.output().splitlines()[-1]
        assert last.startswith(f"gfagent: another gfagent shapes on {iface}; "), last
        assert "htb" in tc(lab, "h1", "qdisc", "show", "dev", iface)


async def test_a_discipline_of_the_user_s_stays(make_lab: MakeLab) -> None:
    with make_lab(bottleneck()) as lab:
        iface = lab.topology.hosts["h1"].interface
        tc(lab, "h1", "qdisc", "add", "dev", iface, "root", "handle", "9:", "htb")
        shaper = shaping(lab, "h1", f"1=udp:10.0.2.1:{PORT}")
        shaper.start()
        await eventually(lambda: not shaper.alive, 10, "it ends")
        last = shaper.output().splitlines()[-1]
        assert last.startswith("gfagent: tc: ") and "on an interface without a discipline" in last, last
        assert "htb 9:" in tc(lab, "h1", "qdisc", "show", "dev", iface)
