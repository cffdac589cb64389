"""`groupflow.Network`: a network from a Python program, its hosts, transfers, links and measurements."""

import asyncio
import os
from collections.abc import Generator
from pathlib import Path

import pytest

import groupflow
from groupflow.errors import Error
from groupflow.lab.registry import running_networks

pytestmark = pytest.mark.network
STAR = groupflow.Topology(
    ["s1"],
    ["h1", "h2", "h3"],
    [("h1", "s1"), ("h2", "s1"), ("h3", "s1")],
    defaults={"rate": "20mbit", "delay": "1ms"},
)


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Generator[groupflow.Network]:
    folder = tmp_path_factory.mktemp("net")
    with groupflow.Network(STAR, name="python", out=folder) as network:
        yield network
    assert "python" not in {each.name for each in running_networks()}
    assert network.hosts == {} or not Path(f"/proc/{network.hosts['h1'].entry.hosts['h1']}").exists()


def test_programs_run_in_hosts_and_names_stand_for_addresses(net: groupflow.Network) -> None:
    assert "1 received" in net["h1"].run("ping -c 1 h2").stdout
    assert net["h1"].run(["printenv", "GROUPFLOW_NAME"]).stdout == "h1\n"
    assert "device 1 " in net["s1"].run("gfswitch stats --device-id 1").stdout
    with pytest.raises(Error, match="h1: exit 3: exit status 3: no output"):
        net["h1"].run("exit 3")
    assert net["h1"].run("exit 3", check=False).returncode == 3
    with pytest.raises(Error, match="no node h9 in python; nodes are s1, h1, h2, h3, s1c"):
        _ = net["h9"]
    serving = net["h2"].start("echo on; exec sleep 60")
    assert serving.stdout and serving.stdout.readline() == "on\n"


def test_a_file_is_sent_to_all_or_to_some(net: groupflow.Network, tmp_path: Path) -> None:
    file = tmp_path / "data.bin"
    file.write_bytes(os.urandom(200_000))
    sent = net.send("h1", file)
    assert sent.tracks.keys() == {"h2", "h3"} and 0.05 < (sent.slowest or 0) < 20
    assert (net.folder / "h3-data.bin").read_bytes() == file.read_bytes()
    assert "h2 200000 bytes in" in repr(sent)
    assert net.send("h2", file, "h3", policy="isolate").tracks.keys() == {"h3"}
    assert net.api.sessions() == []
    with pytest.raises(Error, match="no such file"):
        net.send("h1", tmp_path / "none", "h2")


def test_links_change_and_are_measured(net: groupflow.Network) -> None:
    net.link("h1", "s1", rate="1mbit", loss="0")
    assert 500_000 < net.iperf("h1", "h2") < 1_000_000
    net.link("h1", "s1", "down")
    assert net["h1"].run("ping -c 1 -W 1 h2", check=False).returncode == 1
    net.link("h1", "s1", "up", rate="20mbit")
    assert net["h1"].run("ping -c 1 h2").returncode == 0
    assert net.stats("s1")["device_id"] == 1
    with pytest.raises(Error, match="no link between h1 and h2"):
        net.link("h1", "h2", "down")
    with pytest.raises(Error, match="'fast' cannot be read"):
        net.link("h1", "s1", rate="fast")


async def test_sessions_of_a_program_run_in_hosts_also_within_a_loop_of_events(
    net: groupflow.Network, tmp_path: Path
) -> None:
    session = net.api.create_session(77)
    token = session.tokens.join

    def member(name: str, role: str) -> groupflow.Session:
        launcher = net[name].launcher()
        return groupflow.Session(77, role=role, token=token, name=name, launcher=launcher)  # pyright: ignore[reportArgumentType]

    async with asyncio.timeout(30), member("h2", "receiver") as receiver:
        async with member("h1", "sender") as sender:
            await sender.send(b"hello")
        assert b"".join([chunk async for chunk in receiver.stream()]) == b"hello"
    net.api.delete_session(77)
    (tmp_path / "file").write_bytes(b"x")
    assert net.send("h1", tmp_path / "file", "h2").slowest is not None


def test_wrong_names_are_refused_at_once(net: groupflow.Network, tmp_path: Path) -> None:
    for hosts in (("h1", "h1"), ("h1", "h2", "h2")):
        with pytest.raises(Error, match="a host is named twice; name each once"):
            net.send(hosts[0], tmp_path / "file", *hosts[1:])
    with pytest.raises(Error, match="no switch h1 in python; switches are s1"):
        net.stats("h1")
    with pytest.raises(Error, match="python is started already"):
        net.start()
    assert net["h1"].name == "h1"


def test_what_cannot_start_is_one_line(net: groupflow.Network, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Error, match=r"^network python runs already \(pid .*; or choose another name=$"):
        groupflow.Network(STAR, name="python").start()
    with pytest.raises(Error, match=r"^name='a b': write letters"):
        groupflow.Network(STAR, name="a b").start()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(Error, match="root is needed to make network namespaces; use sudo"):
        groupflow.Network(STAR).start()
