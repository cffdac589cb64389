"""Quantities as people write them (`100mbit`, `10ms`, `1%`), parsed into integers; and addresses.

Rates are bits per second, delays nanoseconds, losses parts per 10^9: nothing downstream needs a float.
"""

import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from groupflow.errors import InvalidError

_RATE_UNITS = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
_RATE_SPELLINGS = _RATE_UNITS | {"b/s": 1, "kb/s": 10**3, "mb/s": 10**6, "gb/s": 10**9}
_DELAY_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)([a-z/]+)")
_FRACTION = re.compile(r"(?P<decimal>-?[0-9]{1,9}(\.[0-9]{1,18})?)(/(?P<divisor>[0-9]{1,18}))?", re.ASCII)
_SIZE_UNITS = {None: 1, "B": 1, "byte": 1, "bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(B|bytes?|KiB|MiB|GiB)?")
_COUNT = re.compile(r"([0-9]+)(?: ?packets?)?")

MOST_PACKETS = 1_000_000
PARTS = 10**9
"""The whole of which a loss is a part: losses are parts per 10^9."""


class UnitError(InvalidError):
    """A quantity that cannot be read. The text says how to write one."""


def parse_rate(value: object) -> int | None:
    """Bits per second; None for `unlimited`. Raises UnitError."""
    return None if value == "unlimited" else _rate(value, ", or 'unlimited'")


def parse_finite_rate(value: object) -> int:
    """Bits per second. Raises UnitError."""
    return _rate(value, ", such as 50mbit")


def _rate(value: object, more: str) -> int:
    rate = _quantity(value, _RATE_SPELLINGS, f"write a number with bit, kbit, mbit or gbit{more}")
    if not 1 <= rate <= 10**15:
        raise UnitError(f"{value!r} is no rate; write one from 1bit to 1000000gbit{more}")
    return rate


def parse_delay(value: object, most_s: int = 3600) -> int:
    """Nanoseconds. A bare 0 needs no unit. Raises UnitError."""
    if value == 0 and not isinstance(value, bool):
        return 0
    delay = _quantity(value, _DELAY_UNITS, "write a number with ns, us, ms or s")
    if delay > most_s * 10**9:
        raise UnitError(f"{value!r} is too long a delay; write at most {most_s}s")
    return delay


def parse_loss(value: object) -> int:
    """Parts per 10^9, from a fraction 0..1 or a percentage like `1%`. Raises UnitError."""
    text = str(value)
    scale = 1
    if text.endswith("%"):
        text, scale = text[:-1], 100
    refusal = UnitError(f"{value!r} is no loss; write a fraction from 0 to 1 or a percentage like 1%")
    try:
        fraction = Decimal(text) / scale
    except InvalidOperation:
        raise refusal from None
    if isinstance(value, bool) or not fraction.is_finite() or not 0 <= fraction <= 1:
        raise refusal
    return int(fraction * PARTS)


def parse_packets(value: object) -> int:
    """A number of packets: `1800`, or `1800 packets`. Raises UnitError."""
    match = _COUNT.fullmatch(str(value))
    if match is None:
        raise UnitError(f"{value!r} cannot be read; write a number of packets, as in '1500 packets'")
    if not 1 <= int(match[1]) <= MOST_PACKETS:
        raise UnitError(f"{value!r} will not do; write 1 to {MOST_PACKETS} packets")
    return int(match[1])


def parse_size(text: str) -> int:
    """Bytes, e.g. `64MiB`, or as `format_size` writes them. A bare number needs no unit. Raises UnitError."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise UnitError(f"{text!r} is no size; write a number of bytes, or like 64MiB")
    return round(Decimal(match[1]) * _SIZE_UNITS[match[2]])


def parse_number(text: str, name: str) -> Fraction:
    """A decimal or a fraction (`0.1`, `1/10`), exactly. Raises UnitError."""
    match = _FRACTION.fullmatch(text)
    if match is None or (match["divisor"] is not None and not int(match["divisor"])):
        raise UnitError(f"{name} {text!r} is no number; write one like 0.1 or 1/10")
    return Fraction(match["decimal"]) / int(match["divisor"] or 1)


def parse_address(text: str, lowest_port: int = 1) -> tuple[str, int]:
    """Host and port of `HOST:PORT`. Raises UnitError."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not lowest_port <= int(port) <= 65535:
        raise UnitError(f"{text!r} is no address; write HOST:PORT")
    return host, int(port)


def parse_host(text: str, port: int) -> tuple[str, int]:
    """Host and port of HOST, HOST:PORT, IPV6 or [IPV6]:PORT; `port` where there is none. Raises UnitError."""
    if text.count(":") > 1 and not text.startswith("["):
        return text, port
    alone = ":" not in text or text.endswith("]")
    host, number = parse_address(f"{text}:{port}" if alone else text)
    return host.strip("[]"), number


def format_rate(rate: int | None) -> str:
    """The shortest exact text that `parse_rate` reads back, e.g. `100mbit`."""
    return "unlimited" if rate is None else _format(rate, _RATE_UNITS)


def show_rate(rate: float | None) -> str:
    """A measured rate for a reader, rounded: `47.3mbit`; None: `-`."""
    if rate is None:
        return "-"
    unit = next((unit for unit in ("gbit", "mbit", "kbit") if rate >= _RATE_UNITS[unit]), "bit")
    return f"{rate / _RATE_UNITS[unit]:.1f}{unit}" if unit != "bit" else f"{rate:.0f}bit"


def show_seconds(seconds: float | None) -> str:
    """A measured time for a reader, rounded: `12.35 s`, `4.3 ms`; None: `-`."""
    if seconds is None:
        return "-"
    if seconds >= 0.1 or not seconds:
        return f"{seconds:.{2 if seconds >= 1 else 3}f} s"
    return f"{seconds * 1000:.3g} ms"


def format_delay(delay_ns: int) -> str:
    """The shortest exact text that `parse_delay` reads back, e.g. `10ms`."""
    return _format(delay_ns, _DELAY_UNITS)


def format_loss(loss: int) -> str:
    """The exact fraction that `parse_loss` reads back, e.g. `0.01`."""
    return format((Decimal(loss) / PARTS).normalize(), "f")


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things in words; their plural has an s unless `many` says it."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def write_size(count: int) -> str:
    """The shortest exact text that `parse_size` reads back, e.g. `64MiB`."""
    for unit in ("GiB", "MiB", "KiB"):
        if count and count % _SIZE_UNITS[unit] == 0:
            return f"{count // _SIZE_UNITS[unit]}{unit}"
    return str(count)


def format_size(count: float) -> str:
    """Bytes for a reader, rounded: `66.9 MiB`."""
    for scale, unit, digits in ((1 << 30, "GiB", 2), (1 << 20, "MiB", 1), (1 << 10, "KiB", 1)):
        if count >= scale:
            return f"{count / scale:.{digits}f} {unit}"
    return f"{count:.0f} B"


def _quantity(value: object, units: dict[str, int], cure: str) -> int:
    match = _QUANTITY.fullmatch(str(value).lower())
    if match is None or match[2] not in units:
        raise UnitError(f"{value!r} cannot be read; {cure}")
    amount = Decimal(match[1]) * units[match[2]]
    if amount != amount.to_integral_value():
        raise UnitError(f"{value!r} is finer than the smallest unit; {cure}")
    return int(amount)


def _format(amount: int, units: dict[str, int]) -> str:
    unit, scale = next(((unit, scale) for unit, scale in reversed(units.items()) if amount % scale == 0))
    return f"{amount // scale}{unit}" if amount else f"0{next(iter(units))}"
