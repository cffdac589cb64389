"""The runs. The paper gives neither rates, latencies nor sizes of packets: all of these are chosen here.

A tree of equal hosts, all 4.8 ms from each other, without a slow host. A packet is what a host sends at once:
what has come, at most 2 ms of its link, 5,000 bytes.
"""

from papers.cmt.slow.plan import LINK_MBPS, Run

CHILDREN = (1, 2, 4, 8)
"""children of each host; with one the tree is a chain"""
ACCESS_MS = 2.4
"""latency from a host to the network, one way: below the threshold, all are one cluster"""
PACED_MBPS = 0.4
"""a stream so slow that one child after the other has it, for the delay"""
BULK_MBPS = 2 * LINK_MBPS
"""more than any host's link carries, for the rate"""
HOSTS, QUICK_HOSTS = 64, 16
STREAM_S = 20


def _run(hosts: int, children: int, rate_mbps: float, one_by_one: bool, seed: int) -> Run:
    return Run(
        "never", "wait", seed, is_slow=False, hosts=hosts, rate_mbps=rate_mbps, stream_s=STREAM_S,
        children=children, access_ms=ACCESS_MS, one_by_one=one_by_one,
    )  # fmt: skip


def runs(quick: bool, seed: int) -> list[Run]:
    """Each number of children, each way to send, each rate. Nothing is random but the hosts' names."""
    hosts = QUICK_HOSTS if quick else HOSTS
    cases = [(n, rate, one) for n in CHILDREN for rate in (PACED_MBPS, BULK_MBPS) for one in (False, True)]
    return [_run(hosts, children, rate, one_by_one, seed) for children, rate, one_by_one in cases]
