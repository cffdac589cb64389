"""Values of keys and parameters as BMv2's CLI takes and shows them, and as P4Runtime has them."""

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv6Address
from typing import TypeAlias

from finsy.proto import p4i, p4r

from groupflow.bmv2.remote import RefusedError, lookup

Lines: TypeAlias = Iterator[str]
"""the answer to a command"""
TAB, COMMA = "\t", ",\t"

_MATCH = p4i.MatchField.MatchType
KINDS = {_MATCH.EXACT: "exact", _MATCH.LPM: "lpm", _MATCH.TERNARY: "ternary", _MATCH.RANGE: "range"}
KINDS[_MATCH.OPTIONAL] = "ternary"
_FORMS = {
    "/": ("LPM", "prefix and length"),
    "&&&": ("ternary", "key and mask"),
    "->": ("range", "range start and range end"),
}


def parse(text: str, width: int) -> bytes:
    """A number of `width` bits, an address where the width is that of one, or a string if there is no width.

    As on BMv2, a number may need all bits of the width's bytes; `cut` leaves out those above the width.
    Raises RefusedError.
    """
    if not width:
        return text.encode()
    try:
        if width == 32 and "." in text:
            value = int(IPv4Address(text))
        elif width == 48 and ":" in text:
            parts = [int(part, 16) for part in text.split(":")]
            if len(parts) != 6:
                raise ValueError
            value = int.from_bytes(bytes(parts), "big")
        elif width == 128 and ":" in text:
            value = int(IPv6Address(text))
        else:
            value = int(text, 0)
    except ValueError:
        cause = "Invalid input, could not cast to integer, try in hex with 0x prefix"
        raise RefusedError(f"Error while parsing {text} - {cause}") from None
    if value < 0 or value.bit_length() > (width + 7) // 8 * 8:
        cause = "Negative values are not supported" if value < 0 else "Parameter is too large"
        raise RefusedError(f"Error while parsing {text} - {cause}")
    return _shortest(value)


def cut(value: bytes, width: int) -> bytes:
    """The lowest bits of a number; a string stays, as its width is 0."""
    return _masked(value, (1 << width) - 1) if width else value


def show(value: bytes, width: int, separator: str = "") -> str:
    """The bytes of a value in hexadecimal digits."""
    digits = value.rjust((width + 7) // 8, b"\0")
    return digits.hex(separator) if separator else digits.hex()


def field_name(field: p4i.MatchField) -> str:
    """Without the name that the program's parameter gives all headers, as in `hdr.ipv4.dst`."""
    name = field.name.replace(".$valid$", "_valid")
    return name.split(".", 1)[1] if field.name.count(".") > 1 else name


def parse_match(field: p4i.MatchField, text: str) -> p4r.FieldMatch | None:
    """A field of a key; None where it matches everything. Raises RefusedError."""
    try:
        return _parse_match(field, text)
    except RefusedError as error:
        raise RefusedError(f"Invalid match key: {error}") from None


def _parse_match(field: p4i.MatchField, text: str) -> p4r.FieldMatch | None:
    width, match = field.bitwidth, p4r.FieldMatch(field_id=field.id)

    def number(word: str) -> bytes:
        return cut(parse(word, width), width)

    def split(separator: str) -> tuple[str, str]:
        first, found, second = text.partition(separator)
        if not found:
            kind, parts = _FORMS[separator]
            raise RefusedError(f"Invalid {kind} value {text}, use '{separator}' to separate {parts}")
        return first, second

    match field.match_type:
        case _MATCH.LPM:
            first, second = split("/")
            length = _length(second, width)
            if length == 0:
                return None
            mask = ((1 << length) - 1) << (width - length)
            match.lpm.value, match.lpm.prefix_len = _masked(number(first), mask), length
        case _MATCH.TERNARY:
            value, mask = (number(part) for part in split("&&&"))
            if not any(mask):
                return None
            match.ternary.value, match.ternary.mask = _masked(value, int.from_bytes(mask, "big")), mask
        case _MATCH.OPTIONAL:
            first, _, second = text.partition("&&&")
            full = (1 << width) - 1
            mask = int.from_bytes(number(second), "big") if second else full
            if not mask:
                return None
            if mask != full:
                raise RefusedError(f"the mask of {field.name} is neither 0 nor all ones")
            match.optional.value = number(first)
        case _MATCH.RANGE:
            low, high = (number(part) for part in split("->"))
            numbers = int.from_bytes(low, "big"), int.from_bytes(high, "big")
            if numbers[0] > numbers[1]:
                raise RefusedError(f"{text} of {field.name} ends before it begins")
            if numbers == (0, (1 << width) - 1):
                return None
            match.range.low, match.range.high = low, high
        case _:
            match.exact.value = number(text)
    return match


def show_match(field: p4i.MatchField, match: p4r.FieldMatch | None, separator: str = "") -> str:
    width = field.bitwidth
    full, zero = _shortest((1 << width) - 1), b""

    def shown(value: bytes) -> str:
        return show(value, width, separator)

    match field.match_type:
        case _MATCH.LPM:
            return f"{shown(match.lpm.value if match else zero)}/{match.lpm.prefix_len if match else 0}"
        case _MATCH.TERNARY:
            value, mask = (match.ternary.value, match.ternary.mask) if match else (zero, zero)
            return f"{shown(value)} &&& {shown(mask)}"
        case _MATCH.OPTIONAL:
            value, mask = (match.optional.value, full) if match else (zero, zero)
            return f"{shown(value)} &&& {shown(mask)}"
        case _MATCH.RANGE:
            low, high = (match.range.low, match.range.high) if match else (zero, full)
            return f"{shown(low)} -> {shown(high)}"
        case _:
            return shown(match.exact.value if match else zero)


def parsed_action(
    info: p4i.P4Info, allowed: set[int], name: str, words: Sequence[str]
) -> tuple[p4r.Action, str]:
    """An action with its parameters, and the parameters as they are shown. Raises LookupError."""
    try:
        action = lookup("action", [each for each in info.actions if each.preamble.id in allowed], name)
    except RefusedError:
        raise LookupError(name) from None
    if len(words) != len(action.params):
        raise RefusedError(f"Action {action.preamble.name} needs {len(action.params)} parameters")
    chosen, shown = p4r.Action(action_id=action.preamble.id), list[str]()
    for param, word in zip(action.params, words, strict=True):
        try:
            value = parse(word, param.bitwidth)
        except RefusedError as error:
            raise RefusedError(f"Invalid runtime data: {error}") from None
        chosen.params.add(param_id=param.id, value=cut(value, param.bitwidth))
        shown.append(show(value, param.bitwidth, ":"))
    return chosen, "\t".join(shown)


def shown_action(info: p4i.P4Info, action: p4r.TableAction) -> str:
    match action.WhichOneof("type"):
        case "action_profile_member_id":
            return f"Index: member({action.action_profile_member_id - 1})"
        case "action_profile_group_id":
            return f"Index: group({action.action_profile_group_id - 1})"
        case "action":
            known = {each.preamble.id: each for each in info.actions}[action.action.action_id]
            values = {param.param_id: param.value for param in action.action.params}
            shown = ", ".join(values.get(param.id, b"").hex() for param in known.params)
            return f"Action entry: {known.preamble.name} - {shown}"
        case "action_profile_action_set":
            return f"Index: set of {len(action.action_profile_action_set.action_profile_actions)} actions"
        case _:
            return "EMPTY"


def _length(text: str, width: int) -> int:
    if text.isdecimal() and len(text) < 9 and int(text) <= width:
        return int(text)
    raise RefusedError(f"the prefix length {text} is not between 0 and {width}")


def _masked(value: bytes, mask: int) -> bytes:
    return _shortest(int.from_bytes(value, "big") & mask)


def _shortest(value: int) -> bytes:
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")
