"""Values as they are written on the command line: addresses, sessions, shares; and options of other names."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Annotated, TypeAlias

from groupflow import units
from groupflow.model.fields import Written
from groupflow.model.session import FIRST_SESSION, LAST_SESSION


@dataclass(frozen=True)
class Name:
    """The option of a field, where it has another name: `--from` for `start`."""

    option: str


@dataclass(frozen=True)
class Secret:
    """A token: every user can read a command line, so an option names a file that has it."""

    option: str = "--token-file"
    variable: str = "GROUPFLOW_TOKEN"
    """the environment variable that has the token where no file is named"""


TOKEN_RULE = "it must be 1 to 255 hexadecimal digits; make one with `openssl rand -hex 16`"


def is_token(text: str) -> bool:
    return re.fullmatch(r"[0-9A-Fa-f]{1,255}", text) is not None


def _session(text: object) -> int:
    number = int(str(text)) if str(text).isdecimal() else 0
    if not FIRST_SESSION <= number <= LAST_SESSION:
        raise units.UnitError(f"{str(text)!r} is no session; write a number from 1 to {LAST_SESSION}")
    return number


def _url(text: object) -> str:
    found = re.fullmatch(r"https?://(?:[^/\s:]+|\[[0-9a-fA-F:.]+\])(?::([0-9]+))?/?", str(text))
    if found is None or not 1 <= int(found[1] or 1) <= 65535:
        raise units.UnitError(f"{str(text)!r} is no URL; write one like http://10.0.0.1:9580")
    return str(text)


def _share(text: object) -> float:
    try:
        return units.parse_loss(text) / units.PARTS
    except units.UnitError:
        raise units.UnitError(f"{text!r} is no share; write a percentage like 10%") from None


def _at(address: tuple[str, int]) -> str:
    return f"{address[0]}:{address[1]}"


_TEXT = {"type": "string"}
SESSION = Written(_session, f"a number from 1 to {LAST_SESSION}", {"type": "integer"}, "SESSION")
URL = Written(_url, "a URL like http://10.0.0.1:9580", _TEXT, "URL")
LISTEN = Written(
    lambda text: units.parse_address(str(text), lowest_port=0), "HOST:PORT", _TEXT, "HOST:PORT", _at
)
TO = Written(lambda text: units.parse_address(str(text)), "HOST:PORT", _TEXT, "HOST:PORT", _at)


def _ip_port(lowest_port: int) -> Written:
    def parse(text: object) -> str:
        try:
            host, _ = units.parse_address(str(text), lowest_port=lowest_port)
            IPv4Address(host)
        except ValueError:
            raise units.UnitError(f"{text!r} is no address; write IP:PORT, as in 10.0.0.1:5000") from None
        return str(text)

    return Written(parse, "IP:PORT", _TEXT, "IP:PORT")


SHARE = Written(
    _share, "a percentage like 10%", _TEXT, "PERCENT",
    lambda share: f"{100 * share:g}%",
)  # fmt: skip


def _time(text: object) -> int:
    """Nanoseconds of a wait or a lifetime, which may be far longer than the delay of a link."""
    return 0 if text == "0" else units.parse_delay(text, most_s=10**8)


def _written(parse: Callable[[object], float], unit: int, example: str = "3s") -> Written:
    """A time as people write it, kept as a number of `unit` ns."""
    cure = f"a time with its unit, as in '{example}'"
    return Written(parse, cure, _TEXT, "TIME", lambda count: units.format_delay(round(count * unit)))


def _span(unit: int) -> Written:
    """A time that is a whole number of `unit` ns."""

    def parse(text: object) -> int:
        count, rest = divmod(_time(text), unit)
        if rest:
            raise units.UnitError(f"{text!r} is finer than {units.format_delay(unit)}; write a longer time")
        return count

    return _written(parse, unit)


Seconds: TypeAlias = Annotated[int, _span(10**9)]
Millis: TypeAlias = Annotated[int, _span(10**6)]
Span: TypeAlias = Annotated[float, _written(lambda text: _time(text) / 10**9, 10**9)]
"""seconds"""
FractionMs: TypeAlias = Annotated[float, _written(lambda text: _time(text) / 10**6, 10**6, "5ms")]
"""milliseconds, also parts of one"""


def _interval(text: object) -> float:
    seconds = _time(text) / 10**9
    if not seconds:
        raise units.UnitError(f"{text!r} will not do; write a time above 0, as in '1s'")
    return seconds


Interval: TypeAlias = Annotated[float, _written(_interval, 10**9)]
"""seconds, above 0"""
SessionId: TypeAlias = Annotated[int, SESSION]
ListenAddress: TypeAlias = Annotated[tuple[str, int], LISTEN]
"""port 0: any that is free"""
FarAddress: TypeAlias = Annotated[tuple[str, int], TO]
FarIpPort: TypeAlias = Annotated[str, _ip_port(1)]
"""an IPv4 address: gfagent resolves no names"""
OwnIpPort: TypeAlias = Annotated[str, _ip_port(0)]
"""port 0: any that is free"""
Share: TypeAlias = Annotated[float, SHARE]
"""a part of 1"""
