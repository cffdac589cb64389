"""The same P4, controller and agents on BMv2's simple_switch_grpc, where it is installed."""

import shutil
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from groupflow import units
from groupflow.agents.events import Event
from groupflow.errors import Error
from groupflow.files import variants
from groupflow.lab import kernel_link, split
from groupflow.lab.switches import BMV2
from tests.network.harness import MIB, Lab, laboratory, undisturbed_report
from tests.network.tcp_group import FIG5, agents_up, group

pytestmark = pytest.mark.skipif(shutil.which(BMV2) is None, reason=f"{BMV2} (BMv2) is not installed")


@pytest.mark.alone
def test_the_demo_on_bmv2(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "groupflow.cli.main", "demo", "--switch", "bmv2"]
    command += ["--rate", "4mbit", "--size", "1MiB", "--members", "1"]
    run, *lossy = undisturbed_report(command, tmp_path)["runs"]
    assert len(lossy) == kernel_link.is_offered()
    for each in (run, *lossy):
        assert not any(receiver["error"] for receiver in each["receivers"])
    assert all(each["retransmitted"] or each["agents"][0]["repairs"] for each in lossy), "nothing was lost"
    copies = {(link["source"], link["target"]): link["copies"] for link in run["group"]["links"]}
    assert copies["ma1", "s1"] <= 1.1
    assert copies["s1", "s2"] <= 1.1


@contextmanager
def lossy(tmp_path: Path) -> Generator[Lab]:
    """Fig. 5 with a receiver in each network, at a rate that BMv2 can do, and 1 % of the frames lost."""
    topology = variants.with_loss(variants.with_rate(FIG5, 4_000_000), units.parse_loss("1%"))
    with laboratory(topology, tmp_path, "bmv2") as lab:
        yield lab


@pytest.mark.skipif(not kernel_link.is_offered(), reason="nftables are not installed")
@pytest.mark.parametrize("mode", ["e2e", "n2n"])
async def test_a_cache_agent_is_killed_on_bmv2(tmp_path: Path, mode: str) -> None:
    with lossy(tmp_path) as lab:
        async with lab.caches() as caches, lab.transfer(lab.session(mode), lab.file(2 * MIB)) as transfer:
            await transfer.until(0.2)
            caches["sa2"].signal(signal.SIGKILL)
            await transfer.until(0.4)
            async with lab.cache("sa2") as again:
                await again.wait_for("joined")
                outcome = await transfer.outcome()
    outcome.assert_everyone_has_it()


@pytest.mark.skipif(not kernel_link.is_offered(), reason="nftables are not installed")
@pytest.mark.parametrize("mode", ["e2e", "n2n"])
async def test_a_receiver_is_killed_on_bmv2(tmp_path: Path, mode: str) -> None:
    with lossy(tmp_path) as lab:
        async with lab.caches(), lab.transfer(lab.session(mode), lab.file(2 * MIB)) as transfer:
            await transfer.until(0.2)
            transfer.receivers["mc1"].signal(signal.SIGKILL)
            outcome = await transfer.outcome()
    assert isinstance(outcome.sender, Event), outcome.sender
    assert outcome.sender.texts("lost") == ("mc1",)
    assert {name for name, same in outcome.equal.items() if not same} == {"mc1"}


async def test_a_link_goes_down_and_up_on_bmv2(tmp_path: Path) -> None:
    with laboratory(FIG5, tmp_path, "bmv2") as lab:
        link = lab.topology.link_between("s1", "s2")
        if not kernel_link.is_offered():
            with pytest.raises(Error, match="no nft on PATH"):
                lab.network.links.change(link, "down")
            return
        for change, received in (("down", False), ("up", True)):
            lab.network.links.change(link, change)
            done = lab.network.hosts["ma1"].run(["ping", "-c1", "-W2", str(lab.topology.hosts["mc1"].ip)])
            assert (done.returncode == 0) is received, change
        with pytest.raises(Error, match="rate=5mbit: only loss, down and up are emulated here"):
            lab.network.links.change(link, "rate=5mbit")


async def test_a_tcp_session_on_bmv2(tmp_path: Path) -> None:
    """Refused while no agent serves it, then split at agents; an address without a session stays refused."""
    size = MIB + 17
    with laboratory(FIG5, tmp_path, "bmv2") as lab:
        async with group(lab) as subject:
            await subject.assert_refused("ma1")
            split.start(lab.network, lab.folder / "logs")
            await agents_up(lab, 2)
            await subject.assert_refused("mc1", address="10.200.77.77")
            for host in ("mb1", "md1"):
                await subject.join(host)
            await subject.send("ma1", size)
            await subject.assert_all_have(size, ("mb1", "md1"))
            assert await subject.receipts(2) == {"mb1": size, "md1": size}
            for switch in ("s1", "s2"):
                counters = cast(dict[str, Any], lab.controller.get(f"/switches/{switch}/counters"))
                assert [count["packets"] for count in counters["refusals"]] == [1], switch
