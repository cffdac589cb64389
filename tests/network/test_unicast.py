"""Ordinary tools on the same switches: ping."""

from tests.network.harness import Lab


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
