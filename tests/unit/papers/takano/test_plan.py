"""The simulations of the reproduction."""

from collections import Counter

from papers.takano import network
from papers.takano.paper import CASES, QUICK_SECONDS
from papers.takano.plan import LONGER_NS, MOVED_NS, REPEATS, Run, label, repeated, scenario_runs
from tests.support.studies import beyond

STUDIES = beyond("takano")


def test_repetitions_differ_in_start_and_delays_by_very_little() -> None:
    first, *more = repeated(Run("x", CASES["2"], "tcp", seed=3), 4)
    assert first == Run("x", CASES["2"], "tcp", seed=3), "the first run is the paper's"
    starts = [run.case.background_start_s for run in more]
    assert len(set(starts)) == 3
    assert all(0.1 < start < 0.1 + MOVED_NS / 1e9 for start in starts)
    assert [run.folder for run in (first, *more)] == [f"x/run-{number}" for number in (1, 2, 3, 4)]
    described = [network.scenario(run) for run in (first, more[0])]
    assert described[0].flows[0] == described[1].flows[0]
    delays = [link.spec.delay_ns for link in described[1].topology.links[: CASES["2"].nodes - 1]]
    assert len(set(delays)) > 20 and all(100_000 <= delay < 100_000 + LONGER_NS for delay in delays)
    assert len({run.case.delays_ns for run in more}) == 3
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
        assert counts[label(name, "tcp")] >= 2
    assert {run.case.seconds for run in scenario_runs("2", seconds=QUICK_SECONDS)} == {QUICK_SECONDS}


def test_different_runs_have_different_folders() -> None:
    """Two studies may share a run."""
    for quick in (False, True):
        runs = [run for name in STUDIES for run in STUDIES[name].runs(quick, 1)]
        runs += [run for name in CASES for run in scenario_runs(name)]
        assert len({run.folder for run in runs}) == len(set(runs))


def test_a_case_is_built_as_it_says() -> None:
    case = CASES["4S"]
    flows = STUDIES["flows"].runs(False, 1)
    six = network.scenario(next(run for run in flows if len(run.case.sources) == 6))
    assert len(six.flows) == 6 and all(flow.shaped_as is None for flow in six.flows)
    ends = {host: six.topology.hosts[host].switch for host in ("source1", "source2", "source6", "sink6")}
    assert ends == {"source1": "n1", "source2": "n4", "source6": "n14", "sink6": "n16"}
    slow = next(run for run in STUDIES["stability"].runs(False, 1) if not run.shaped)
    built = network.scenario(slow)
    assert [flow.name for flow in built.flows] == ["target"] and built.flows[0].shaped_as is None
    line = [link.spec for link in built.topology.links[: case.nodes - 1]]
    assert [spec.rate for spec in line] == [case.bandwidth_bps] * 14 + [case.bandwidth_bps // 2]
    unequal = next(run for run in STUDIES["delays"].runs(False, 1) if run.case.name == "rising")
    delays = [link.spec.delay_ns for link in network.scenario(unequal).topology.links[: case.nodes - 1]]
    assert delays == list(range(30_000, 180_000, 10_000))
