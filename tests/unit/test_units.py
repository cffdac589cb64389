"""Sizes for readers, and addresses with a port that may be left out."""

import pytest

from groupflow.units import UnitError, format_size, parse_host


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (2048, "2.0 KiB"), (67108864, "64.0 MiB"), (5 << 30, "5.00 GiB")],
)
def test_sizes(count: int, text: str) -> None:
    assert format_size(count) == text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("h1", ("h1", 7)),
        ("10.0.2.1:8", ("10.0.2.1", 8)),
        ("fd00::2", ("fd00::2", 7)),
        ("[fd00::2]", ("fd00::2", 7)),
        ("[fd00::2]:8", ("fd00::2", 8)),
    ],
)
def test_hosts_with_and_without_a_port(text: str, found: tuple[str, int]) -> None:
    assert parse_host(text, 7) == found


@pytest.mark.parametrize("text", ["", "h1:", "h1:0", "h1:x", ":8", "[fd00::2]:65536"])
def test_what_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(UnitError, match="no address; write HOST:PORT"):
        parse_host(text, 7)
