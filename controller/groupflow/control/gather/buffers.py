"""The receive buffer of each client: section III.A of the paper.

The paper's words for too small a total, "target throughput for all clients is set to the minimum target value
in all clients", can be read in two ways: (a) the smallest target of all clients stands for everyone's target,
or (b) each client has a minimum target of its own. This module takes (a), except for clients that are given a
minimum of their own.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby

from groupflow.control.gather.model import Client, Limits, Readings

Shares = dict[str, float]
"""bytes of receive buffer by client"""


def window_for(rate: float, rtt: float) -> float:
    """Eq. (1), W[KB] = T_t[Mb/s] * RTT[ms] / 8, in bytes, bit/s and seconds."""
    return rate * rtt / 8


def rate_of(window: float, rtt: float) -> float:
    """Eq. (2), the throughput that a buffer allows, in bit/s.

    The paper prints T_e = W_n / RTT_n / 8, which contradicts eq. (1): eq. (1) solved for T is T = 8 W / RTT.
    """
    return 8 * window / rtt


def share_buffers(clients: Sequence[Client], readings: Readings, limits: Limits) -> dict[str, int]:
    """Bytes of receive buffer for each client, whose sum is at most `limits.buffer`."""
    targets = {client.name: float(client.target) for client in clients}
    read = {client.name: readings[client.name] for client in clients}
    rtts = {name: each.rtt_or_std for name, each in read.items()}
    needed = {name: _room(target, rtts[name], limits) for name, target in targets.items()}
    surplus = limits.buffer - sum(needed.values())
    if surplus >= 0:
        extra = in_ratio(surplus, targets)
        shares = {name: need + extra[name] for name, need in needed.items()}
    else:
        shares = _share_too_little(clients, rtts, needed, limits)
    return whole_windows(shares, limits)


def _share_too_little(
    clients: Sequence[Client], rtts: Mapping[str, float], needed: Shares, limits: Limits
) -> Shares:
    """Minimum targets for all, then targets by priority; if the minima do not fit, by target ratio."""
    lowest = min(client.target for client in clients)
    least = {
        client.name: min(lowest if client.minimum is None else client.minimum, client.target)
        for client in clients
    }
    shares = {name: _room(rate, rtts[name], limits) for name, rate in least.items()}
    surplus = limits.buffer - sum(shares.values())
    if surplus < 0:
        return in_ratio(limits.buffer, {client.name: float(client.target) for client in clients})
    by_priority = sorted(clients, key=lambda client: -client.priority)
    for _, alike in groupby(by_priority, key=lambda client: client.priority):
        lacking = {client.name: needed[client.name] - shares[client.name] for client in alike}
        given = min(surplus, sum(lacking.values()))
        # Clients of one priority come equally near to their targets, in proportion.
        for name, share in in_ratio(given, lacking).items():
            shares[name] += share
        surplus -= given
    return shares


def _room(rate: float, rtt: float, limits: Limits) -> float:
    """The buffer of eq. (1), but a segment at least."""
    return max(window_for(rate, rtt), float(limits.segment))


def in_ratio(total: float, weights: Mapping[str, float]) -> Shares:
    """`total` divided in the ratio of weights; 0 for every client if all weights are 0."""
    whole = sum(weights.values())
    return {name: total * weight / whole if whole > 0 else 0.0 for name, weight in weights.items()}


def whole_windows(shares: Mapping[str, float], limits: Limits) -> dict[str, int]:
    """The shares in whole bytes, each with room for a segment, which larger shares give up if necessary."""
    least = float(min(limits.segment, limits.buffer // max(1, len(shares))))
    if min(shares.values(), default=least) >= least and sum(shares.values()) <= limits.buffer:
        return {name: int(share) for name, share in shares.items()}
    raised = {name: max(share, least) for name, share in shares.items()}
    above = {name: share - least for name, share in raised.items()}
    excess = max(0.0, sum(raised.values()) - limits.buffer)
    taken = in_ratio(min(excess, sum(above.values())), above)
    windows = {name: max(int(least), int(share - taken[name])) for name, share in raised.items()}
    # Rounding of the sums above may give a byte too many.
    if (over := sum(windows.values()) - limits.buffer) > 0:
        largest = max(windows, key=lambda name: windows[name])
        windows[largest] -= over
    return windows
