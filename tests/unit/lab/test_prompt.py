"""The prompt's `send` command is read before anything starts."""

import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Self

import pytest

from groupflow.agents.events import Event
from groupflow.errors import Error
from groupflow.files import variants
from groupflow.lab.controller_process import SessionAccess
from groupflow.lab.prompt import Prompt, transfer
from groupflow.processes import Daemon

FIG5 = variants.with_members(variants.named("fig5"), 1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "f.bin"
    path.write_bytes(b"1")
    return path


def test_all_hosts_but_agents_receive(file: Path) -> None:
    assert transfer(["ma1", str(file)], FIG5) == ("ma1", file, ("mb1", "mc1", "md1"))
    assert transfer(["mb1", str(file), "md1", "sa1"], FIG5) == ("mb1", file, ("md1", "sa1"))


class _Sent:
    """A sender whose session has lost a receiver."""

    def __init__(self, *_: object, **__: object) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def finish(self) -> Event:
        return Event("complete", 1.0, {"lost": ["mb1"]})


def test_a_lost_receiver_is_named_and_not_waited_for(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groupflow.lab.prompt.AgentProcess", _Sent)
    prompt = object.__new__(Prompt)
    with Daemon("mb1 (gfagent recv)", ["sleep", "60"], None) as receiver:
        prompt.__dict__["_receiving"] = {7: {"mb1": receiver}}
        prompt.__dict__["_network"] = SimpleNamespace(hosts={"ma1": SimpleNamespace(launcher=list)})
        with pytest.raises(Error, match="session 7: complete without mb1: lost on the way"):
            prompt._carry(SessionAccess(7, "c0ffee"), "ma1", file)  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("rate", ["x", "10X", "h1", "-1M", "10mbit"])
def test_a_rate_that_iperf_would_not_read_is_refused(rate: str) -> None:
    with pytest.raises(Error, match="write: iperfudp 10M h1 h2"):
        Prompt.do_iperfudp(object.__new__(Prompt), f"{rate} ma1 mb1")


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("", "write: send h1 FILE"),
        ("ma1", "write: send h1 FILE"),
        ("ma1 /no/such", "/no/such: no such file"),
        ("ma1 /tmp", "/tmp: it is a folder"),
        ("h9 FILE", "no host h9; hosts are ma1, mb1"),
        ("ma1 FILE mb1 s1", "no host s1"),
        ("ma1 FILE ma1", "a host is named twice"),
        ("ma1 FILE mb1 mb1", "a host is named twice"),
    ],
)
def test_a_mistake_is_told(file: Path, line: str, error: str) -> None:
    with pytest.raises(Error, match=error):
        transfer(shlex.split(line.replace("FILE", str(file))), FIG5)
