"""Ordinary tools on the same switches: ping, and TCP through the baseline's own script."""

import hashlib

from experiments.demo import baseline
from groupflow.lab.measure import link_bytes, usage
from tests.network.harness import MIB, Lab


def test_every_host_reaches_every_other(pair: Lab) -> None:
    """Across switches, on one switch, and the agents."""
    hosts = pair.network.hosts
    for source, target in (("ma1", "md1"), ("ma1", "mb1"), ("mc1", "md1"), ("sa1", "sa2"), ("md1", "ma1")):
        done = hosts[source].run(
            ["ping", "-c", "2", "-i", "0.2", "-W", "2", str(pair.topology.hosts[target].ip)]
        )
        assert done.returncode == 0, f"{source} to {target}: {done.stdout}"


def test_the_round_trip_is_the_links_delay(pair: Lab) -> None:
    """Three links of 10 ms from ma1 to md1: 60 ms there and back, the first also for ARP."""
    address = str(pair.topology.hosts["md1"].ip)
    done = pair.network.hosts["ma1"].run(["ping", "-c", "5", "-i", "0.2", "-W", "2", address])
    times = [float(line.split("time=")[1].split()[0]) for line in done.stdout.splitlines() if "time=" in line]
    assert len(times) == 5
    assert 60.0 <= min(times) <= 65.0, times


def test_an_address_that_nobody_has_is_not_answered(pair: Lab) -> None:
    done = pair.network.hosts["ma1"].run(["ping", "-c", "1", "-W", "1", "10.0.9.9"])
    assert done.returncode != 0


async def test_tcp_carries_a_file_to_several_hosts_at_once(pair: Lab) -> None:
    file = pair.file(2 * MIB)
    receivers = pair.receivers()
    todo = baseline.plan(pair.topology, "ma1", receivers, 2 * MIB, paced=False)
    before = link_bytes(pair.network)
    seconds = await baseline.run(pair.network, "ma1", receivers, file, pair.folder, todo)
    assert 0 < seconds < baseline.MAX_SECONDS and todo.file_bytes == 2 * MIB
    links = usage(pair.topology, before, link_bytes(pair.network), 2 * MIB)
    copies = {(use.source, use.target): use.copies for use in links}
    assert copies["ma1", "s1"] > 3.0  # one for each receiver
    assert copies["s1", "s2"] > 2.0
    assert hashlib.sha256((pair.folder / "baseline.bin").read_bytes()).digest() == (
        hashlib.sha256(file.read_bytes()).digest()
    )
