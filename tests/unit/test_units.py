"""Sizes, rates, and addresses with a port that may be left out."""

import pytest

from groupflow import units
from groupflow.units import UnitError, format_size, parse_finite_rate, parse_host, parse_rate, parse_size


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (2048, "2.0 KiB"), (67108864, "64.0 MiB"), (5 << 30, "5.00 GiB")],
)
def test_sizes(count: int, text: str) -> None:
    assert format_size(count) == text


@pytest.mark.parametrize("count", [0, 1023, 131_072, 100_000, 67_108_864, 5 << 30])
def test_a_size_as_it_is_shown_can_be_given(count: int) -> None:
    """`groupflow probe` recommends a buffer, which its --buffers takes."""
    assert format_size(parse_size(format_size(count))) == format_size(count)


@pytest.mark.parametrize("text", ["50", "0mbit", "unlimited", "fast", "0.5bit"])
def test_an_option_without_unlimited_does_not_recommend_it(text: str) -> None:
    with pytest.raises(UnitError, match=r"; write .*, such as 50mbit$") as caught:
        parse_finite_rate(text)
    assert "unlimited" not in str(caught.value).removeprefix("'unlimited'")
    assert parse_finite_rate("50mbit") == 50_000_000


def test_a_link_may_be_unlimited_and_its_error_says_so() -> None:
    assert parse_rate("unlimited") is None
    with pytest.raises(UnitError, match=r"or 'unlimited'$"):
        parse_rate("50")


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


@pytest.mark.parametrize(
    ("rate", "shown"),
    [
        (None, "-"),
        (0, "0bit"),
        (999, "999bit"),
        (47_310_000, "47.3mbit"),
        (1_000, "1.0kbit"),
        (3e9, "3.0gbit"),
    ],
)
def test_a_measured_rate_is_shown_in_its_largest_unit(rate: float | None, shown: str) -> None:
    assert units.show_rate(rate) == shown


@pytest.mark.parametrize(
    ("size", "written"), [(0, "0"), (64 << 20, "64MiB"), (1500, "1500"), (3 << 30, "3GiB")]
)
def test_a_size_is_written_exactly(size: int, written: str) -> None:
    assert units.write_size(size) == written
    assert units.parse_size(written) == size


def test_one_thing_has_no_plural() -> None:
    assert [units.counted(number, "run") for number in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]
    assert [units.counted(number, "switch", "switches") for number in (1, 3)] == ["1 switch", "3 switches"]
