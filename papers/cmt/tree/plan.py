"""The runs. The paper gives no topology, sizes or figures of the tree: all of these are chosen here."""

from dataclasses import dataclass, replace

SIZES = (100, 300, 1_000, 3_000, 10_000)
QUICK_SIZES = (100, 300, 1_000)
SEEDS, QUICK_SEEDS = 5, 2
TRANSIT, DOMAINS, ROUTERS = 10, 4, 5
"""transit routers, stub domains of each, routers of a domain: 210 routers"""
JOINS_PER_S = 100
CHURN_PERMILLE, CHURN_S = 100, 60
"""hosts of a thousand that leave while as many join, and the seconds for it; half of those that leave fail"""
SILENCE_S = 0.6
"""silence after which a failure is noticed, as in `gfagent tree-recv`"""
THRESHOLDS_MS = (1.0, 2.0, 5.0, 10.0, 20.0, 40.0)
OF_THRESHOLD = 1_000
"""number of hosts with which the threshold is varied"""


@dataclass(frozen=True)
class Run:
    """One network with its hosts."""

    hosts: int
    seed: int
    threshold_ms: float = 5.0
    churn_permille: int = CHURN_PERMILLE

    def spec(self) -> dict[str, int | bool]:
        """The run as the simulation reads it; times in ns."""
        return {
            "hosts": self.hosts,
            "joins_per_s": JOINS_PER_S,
            "transit": TRANSIT,
            "domains": DOMAINS,
            "routers": ROUTERS,
            "threshold_ns": round(self.threshold_ms * 1e6),
            "max_members": 64,
            "max_clusters": 16,
            "takes_over": True,
            "churn_permille": self.churn_permille,
            "churn_ns": CHURN_S * 10**9,
            "silence_ns": round(SILENCE_S * 1e9),
            "seed": self.seed,
        }


def by_size(quick: bool, seed: int) -> list[Run]:
    sizes, seeds = (QUICK_SIZES, QUICK_SEEDS) if quick else (SIZES, SEEDS)
    return [Run(hosts, number) for hosts in sizes for number in range(seed, seed + seeds)]


def by_threshold(quick: bool, seed: int) -> list[Run]:
    seeds = range(seed, seed + QUICK_SEEDS)
    runs = [Run(OF_THRESHOLD, number, churn_permille=0) for number in seeds]
    thresholds = THRESHOLDS_MS[1::2] if quick else THRESHOLDS_MS
    return [replace(run, threshold_ms=threshold) for threshold in thresholds for run in runs]
