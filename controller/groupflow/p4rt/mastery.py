"""Election ids that tell whose they are, so that a switch can name the controller that holds it.

A number that grows from start to start decides; below it stand the address of the controller's API and the
controller's pid.
"""

from ipaddress import IPv4Address

_SEQUENCE, _API, _PORT = 80, 48, 32
"""the lowest bits of each part; the pid is below them"""
_LAST = (1 << 128) - 1


def election_id(sequence: int, api: tuple[str, int] | None, pid: int) -> int:
    """`api` is None for a controller whose API has no IPv4 address."""
    try:
        address, port = (int(IPv4Address(api[0])), api[1]) if api else (0, 0)
    except ValueError:
        address, port = 0, 0
    return sequence << _SEQUENCE | address << _API | port << _PORT | pid


def sequence_of(election: int) -> int:
    return election >> _SEQUENCE


def outbid(own: int, highest: int) -> int:
    """An election id of the same controller, above another."""
    if own > highest:
        return own
    if sequence_of(own) == 0:
        return min(highest + 1, _LAST)
    return min((sequence_of(highest) + 1) << _SEQUENCE, _LAST) | own & ((1 << _SEQUENCE) - 1)


def holder(election: int) -> str:
    """The controller that has an election id, in words."""
    pid, port = election & ((1 << _PORT) - 1), election >> _PORT & 0xFFFF
    if not (sequence_of(election) and pid):
        return f"another controller (election id {election})"
    if not port:
        return f"the controller with pid {pid}"
    address = IPv4Address(election >> _API & 0xFFFFFFFF)
    return f"the controller with pid {pid}, API http://{address}:{port}"
