"""Which simulations the reproduction consists of."""

from collections import Counter

from experiments.takano import network
from experiments.takano.paper import CASES, QUICK_SECONDS
from experiments.takano.plan import MOVED_NS, REPEATS, Run, label, repeated, scenario_runs


def test_repetitions_differ_in_the_background_s_start_alone() -> None:
    first, *more = repeated(Run("x", CASES["2"], "tcp", seed=3), 4)
    assert first == Run("x", CASES["2"], "tcp", seed=3), "the first run is the paper's"
    starts = [run.case.background_start_s for run in more]
    assert len(set(starts)) == 3
    assert all(0.1 < start < 0.1 + MOVED_NS / 1e9 for start in starts)
    assert [run.folder for run in (first, *more)] == [f"x/run-{number}" for number in (1, 2, 3, 4)]
    described = [network.scenario(run) for run in (first, more[0])]
    assert described[0].flows[0] == described[1].flows[0]
    assert described[0].flows[1].start_ns == 100_000_000 < described[1].flows[1].start_ns


def test_starts_depend_on_the_seed_and_on_nothing_else() -> None:
    def starts(name: str, seed: int) -> list[float]:
        return [run.case.background_start_s for run in scenario_runs(name, seed=seed)[:REPEATS]]

    assert starts("2", 1) == starts("4", 1)
    assert starts("2", 1) != starts("2", 2)


def test_every_scenario_is_run_with_and_without_control() -> None:
    for name in CASES:
        counts = Counter(run.label for run in scenario_runs(name))
        assert counts.keys() == {label(name, "tcp"), label(name, "dfc")}
        assert 3 <= counts[label(name, "tcp")] <= REPEATS
    assert {run.case.seconds for run in scenario_runs("2", seconds=QUICK_SECONDS)} == {QUICK_SECONDS}
