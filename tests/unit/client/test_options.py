"""Command lines of gfagent's roles."""

from pathlib import Path

import pytest

from groupflow.client.options import AgentOptions, CacheOptions, MemberOptions, RecvOptions, SendOptions


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (SendOptions(session=7, name="a"), "send --session 7 --name a --json --members 1"),
        (
            SendOptions(session=7, name="a", file=Path("f"), members=3, rate=5, iface="e0", seed=9),
            "send --session 7 --name a --json --bind-iface e0 --seed 9 --members 3 --file f --rate 5",
        ),
        (
            SendOptions(session=7, name="a", datagrams=True),
            "send --session 7 --name a --json --members 1 --datagrams",
        ),
        (RecvOptions(session=7, name="b"), "recv --session 7 --name b --json --output - --from now"),
        (
            RecvOptions(session=7, name="b", output=Path("o"), start="start", source=2, join_timeout=1.5),
            "recv --session 7 --name b --json --join-timeout 1.5 --output o --from start --source 2",
        ),
        (
            RecvOptions(session=7, name="b", datagrams=True),
            "recv --session 7 --name b --json --output - --from now --datagrams",
        ),
        (
            MemberOptions(session=7, name="m", listen=9000, start="start", iface="e0"),
            "member --session 7 --name m --json --bind-iface e0 --listen 9000 --from start",
        ),
        (CacheOptions(name="c"), "cache --name c --json"),
        (
            CacheOptions(name="c", max_bytes=9, stats_ms=50),
            "cache --name c --json --max-bytes 9 --stats-ms 50",
        ),
    ],
)
def test_arguments(options: AgentOptions, line: str) -> None:
    assert " ".join(options.arguments()) == line


def test_a_token_is_neither_on_the_command_line_nor_in_the_representation() -> None:
    options = SendOptions(session=7, name="a", token="c0ffee")
    assert "c0ffee" not in " ".join(options.arguments())
    assert "c0ffee" not in repr(options)
