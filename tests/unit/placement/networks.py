"""Random networks, with each host at a switch."""

import random
from collections.abc import Iterable, Sequence

from groupflow.files.topology import read_form
from groupflow.model.topology import Topology

RATES = ("100mbit",)
MIXED_RATES = ("10mbit", "40mbit", "100mbit", "1gbit")
DELAYS = ("10ms",)
MIXED_DELAYS = ("1ms", "2ms", "10ms")

Pairs = Iterable[tuple[int, int]]


def network(
    links: Pairs, hosts: Iterable[int], rng: random.Random, rates: tuple[str, ...], delays: tuple[str, ...]
) -> Topology:
    """Switches s0, s1, ... as the links name them; host h0, h1, ... at the switches of `hosts`."""
    links, homes = list(links), list(hosts)
    switches = sorted({0, *homes, *(end for pair in links for end in pair)})
    ends = [[f"s{one}", f"s{other}"] for one, other in links]
    ends += [[f"h{number}", f"s{home}"] for number, home in enumerate(homes)]
    form = {
        "name": "drawn",
        "switches": {f"s{number}": {"device_id": number + 1, "grpc": 10_000 + number} for number in switches},
        "hosts": {
            f"h{number}": {"ip": f"10.{number // 40_000}.{number // 200 % 200}.{number % 200 + 1}/24"}
            for number in range(len(homes))
        },
        "links": [
            {"ends": pair, "rate": rng.choice(rates), "delay": rng.choice(delays), "queue": 200}
            for pair in ends
        ],
    }
    return read_form(form, "drawn")


def plain(links: Pairs, hosts: Iterable[int]) -> Topology:
    """The same network with links of 100 Mb/s and 10 ms."""
    return network(links, hosts, random.Random(0), RATES, DELAYS)


def tree_links(switches: int, rng: random.Random) -> list[tuple[int, int]]:
    """A tree; each of the trees with these (labelled) switches is as likely as any other."""
    return tree_of([rng.randrange(switches) for _ in range(switches - 2)]) if switches > 1 else []


def tree_of(sequence: Sequence[int]) -> list[tuple[int, int]]:
    """The tree of a Prüfer sequence, which has two switches more than the sequence is long."""
    degree = [1 + sequence.count(switch) for switch in range(len(sequence) + 2)]
    links: list[tuple[int, int]] = []
    for switch in sequence:
        leaf = degree.index(1)
        links.append((leaf, switch))
        degree[leaf] -= 1
        degree[switch] -= 1
    one, other = (switch for switch, links_left in enumerate(degree) if links_left == 1)
    return [*links, (one, other)]


def graph_links(switches: int, extra: int, rng: random.Random) -> list[tuple[int, int]]:
    """A random tree with `extra` more links, as far as there are pairs without one."""
    links = {(min(pair), max(pair)) for pair in tree_links(switches, rng)}
    most = switches * (switches - 1) // 2
    while len(links) < min(most, switches - 1 + extra):
        one, other = sorted(rng.sample(range(switches), 2))
        links.add((one, other))
    return sorted(links)


def tree(switches: int, hosts: int, seed: int, *, mixed: bool = False) -> Topology:
    """Hosts at switches drawn at random; `mixed`: links differ in rate and delay."""
    rng = random.Random(seed)
    return _with_hosts(tree_links(switches, rng), switches, hosts, rng, mixed=mixed)


def graph(switches: int, extra: int, hosts: int, seed: int, *, mixed: bool = False) -> Topology:
    """Like `tree`, with `extra` more links than a tree has."""
    rng = random.Random(seed)
    return _with_hosts(graph_links(switches, extra, rng), switches, hosts, rng, mixed=mixed)


def _with_hosts(
    links: list[tuple[int, int]], switches: int, hosts: int, rng: random.Random, *, mixed: bool
) -> Topology:
    homes = [rng.randrange(switches) for _ in range(hosts)]
    return network(links, homes, rng, MIXED_RATES if mixed else RATES, MIXED_DELAYS if mixed else DELAYS)
