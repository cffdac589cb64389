"""Command lines of gfagent's roles."""

from pathlib import Path

import pytest

from groupflow.agents.options import CacheOptions, MemberOptions, RecvOptions, RoleOptions, SendOptions


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (SendOptions(session=7, name="a"), "send --name a --session 7 --members 1 --json"),
        (
            SendOptions(session=7, name="a", file=Path("f"), members=3, rate=5, iface="e0", seed=9),
            "send --name a --bind-iface e0 --seed 9 --session 7 --file f --members 3 --rate 5 --json",
        ),
        (
            SendOptions(session=7, name="a", datagrams=True),
            "send --name a --session 7 --datagrams --members 1 --json",
        ),
        (RecvOptions(session=7, name="b"), "recv --name b --session 7 --from now --json"),
        (
            RecvOptions(session=7, name="b", output=Path("o"), start="start", source=2, join_timeout=2),
            "recv --name b --join-timeout 2 --session 7 --output o --from start --source 2 --json",
        ),
        (
            RecvOptions(session=7, name="b", datagrams=True),
            "recv --name b --session 7 --datagrams --from now --json",
        ),
        (
            MemberOptions(session=7, name="m", listen=9000, start="start", iface="e0"),
            "member --name m --bind-iface e0 --session 7 --listen 9000 --from start --json",
        ),
        (CacheOptions(name="c"), "cache --name c --json"),
        (
            CacheOptions(name="c", max_bytes=9, stats_ms=50),
            "cache --name c --max-bytes 9 --stats-ms 50 --json",
        ),
    ],
)
def test_arguments(options: RoleOptions, line: str) -> None:
    assert " ".join(options.arguments()) == line


def test_a_token_is_neither_on_the_command_line_nor_in_the_representation() -> None:
    options = SendOptions(session=7, name="a", token="c0ffee")
    assert "c0ffee" not in " ".join(options.arguments())
    assert "c0ffee" not in repr(options)
