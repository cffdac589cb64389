"""Arguments of the Python API: refused when they are given, in the words of the program that gives them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import groupflow
from groupflow.agents.arguments import ArgumentError
from groupflow.agents.errors import AgentError
from groupflow.agents.events import Progress

Install = Callable[[str], Path]
SESSION: dict[str, Any] = {"session": 7, "role": "sender", "token": "c0ffee"}
RECEIVER = SESSION | {"role": "receiver"}
TREE: dict[str, Any] = {"to": "10.0.0.1:26495", "role": "receiver", "token": "c0ffee", "plain": True}
CLIENT: dict[str, Any] = {"server": "10.0.0.1:26490", "name": "cam1", "token": "c0ffee", "plain": True}
JOINED = """event joined ',"member":1'"""


@pytest.mark.parametrize(
    ("kind", "given", "text"),
    [
        (
            "Session",
            SESSION | {"role": "sendr"},
            "role: 'sendr' will not do; it should be 'sender' or 'receiver'",
        ),
        ("Session", SESSION | {"session": "seven"}, "session: 'seven' is no session; write a number from 1"),
        (
            "Session",
            SESSION | {"session": 1 << 24},
            "session: 16777216 will not do; write a number from 1 to",
        ),
        ("Session", SESSION | {"kind": "datagram"}, "kind: 'datagram' will not do"),
        (
            "Session",
            SESSION | {"members": 0},
            "members: 0 will not do; it should be greater than or equal to 1",
        ),
        ("Session", SESSION | {"members": True}, "members: True will not do; it should be a valid integer"),
        ("Session", SESSION | {"rate": "ten"}, "rate: 'ten' cannot be read; write a number with bit"),
        ("Session", SESSION | {"rate": 0}, "rate: 0 will not do; write a rate with its unit"),
        ("Session", SESSION | {"iface": 5}, "iface: 5 will not do; it should be a valid string"),
        ("Session", SESSION | {"join_timeout": -1}, "join_timeout: -1 will not do; it should be greater"),
        ("Session", SESSION | {"token": ""}, "token: it is missing; pass token=, or set $GROUPFLOW_TOKEN"),
        ("Session", RECEIVER | {"token": "xyz"}, "token: it must be 1 to 255 hexadecimal digits"),
        ("GatherSender", CLIENT | {"token": "c0ffee!"}, "token: it must be 1 to 255 hexadecimal digits"),
        ("Session", SESSION | {"name": "n" * 256}, "will not do; it should have at most 255 characters"),
        ("Session", SESSION | {"on_event": 3}, "on_event: 3 cannot be called"),
        ("Session", SESSION | {"launcher": "sudo"}, "launcher: 'sudo' is one text; pass a list of words"),
        ("Session", SESSION | {"start": "start"}, "start= and source= are of a receiver"),
        (
            "Session",
            RECEIVER | {"start": "begin"},
            "start: 'begin' will not do; it should be 'now' or 'start'",
        ),
        ("Session", RECEIVER | {"members": 3}, "members= and rate= are of a sender"),
        ("Session", RECEIVER | {"source": "h1"}, "source: 'h1' will not do; it should be a valid integer"),
        ("TreeSession", TREE | {"role": "source"}, "role: 'source' will not do"),
        ("TreeSession", TREE | {"to": "nowhere"}, "to: 'nowhere' is no address; write IP:PORT"),
        ("TreeSession", TREE | {"token": "xyz"}, "token: it must be 1 to 255 hexadecimal digits"),
        (
            "TreeSession",
            TREE | {"slow": "fast"},
            "slow: 'fast' will not do; it should be 'wait', 'isolate' or 'skip'",
        ),
        (
            "TreeSession",
            TREE | {"plain": False, "tls_pin": "abc"},
            "tls_pin: 'abc' will not do; write 64 hex",
        ),
        (
            "TreeSession",
            TREE | {"parallel": 99},
            "parallel: 99 will not do; it should be less than or equal to 16",
        ),
        ("TreeSession", TREE | {"cache": "much"}, "cache: 'much'"),
        ("TreeSession", TREE | {"members": 2}, "are of the whole stream; pass them to its sender"),
        ("GatherSender", CLIENT | {"server": "nowhere"}, "server: 'nowhere' is no address"),
        ("GatherSender", CLIENT | {"name": ""}, "name: '' will not do; it should have at least 1 character"),
        ("GatherSender", CLIENT | {"retry": "4"}, "retry: '4'"),
    ],
)
def test_a_wrong_argument_is_refused_at_once_and_named(
    kind: str, given: dict[str, Any], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GROUPFLOW_TOKEN", raising=False)
    with pytest.raises(ArgumentError) as error:
        getattr(groupflow, kind)(**given)
    assert text in str(error.value) and "--" not in str(error.value)


def test_no_error_shows_a_token() -> None:
    with pytest.raises(ArgumentError, match="token: what was given will not do") as error:
        groupflow.Session(7, role="sender", token=0xC0FFEE)  # pyright: ignore[reportArgumentType]
    assert str(0xC0FFEE) not in str(error.value)


async def test_quantities_are_numbers_or_as_people_write_them(gfagent: Install, tmp_path: Path) -> None:
    for rate in ("10mbit", 10_000_000):
        gfagent(f"{JOINED}; cat >/dev/null; event complete ',\"bytes\":0'")
        async with groupflow.Session(**SESSION, rate=rate):
            pass
        assert "--rate 10000000" in (tmp_path / "arguments").read_text()


@pytest.mark.parametrize(
    ("kind", "given", "cure", "text"),
    [
        (
            "Session",
            SESSION,
            "pass the token in GROUPFLOW_TOKEN or a --token-file",
            "GROUPFLOW_TOKEN or token=",
        ),
        ("Session", SESSION, "check --bind-iface, or pass --addr", "check iface="),
        ("Session", RECEIVER, "check --source and --from", "check source= and start="),
        ("GatherSender", CLIENT, "check --to and --client", "check server= and name="),
    ],
)
async def test_errors_of_gfagent_name_arguments(
    kind: str, given: dict[str, Any], cure: str, text: str, gfagent: Install
) -> None:
    gfagent(f"""event error ',"code":"refused","cause":"no","cure":"{cure}"' | tee /dev/stderr; exit 4""")
    with pytest.raises(AgentError) as error:
        await getattr(groupflow, kind)(**given).__aenter__()
    assert str(error.value).endswith(text)


async def test_the_progress_of_a_file_has_its_size(gfagent: Install, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(bytes(1000))
    half = """event progress ',"bytes":500,"total_bytes":null,"goodput_bps":8e6'"""
    gfagent(f"""{JOINED}; cat >/dev/null; {half}; event complete ',"bytes":1000,"seconds":2,"lost":["h3"]'""")
    heard: list[Progress] = []
    async with groupflow.Session(
        **SESSION, on_event=lambda event: heard.append(event) if type(event) is Progress else None
    ) as session:
        assert session.joined.member == 1
        await session.send_file(file)
    assert [(each.bytes, each.total, each.goodput_bps) for each in heard] == [(500, 1000, 8e6)]
    assert session.progress is heard[0]
    assert session.result and (session.result.seconds, session.result.lost) == (2.0, ("h3",))
