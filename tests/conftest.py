"""Rules for every test: tests that `make check` runs are fast, or say that they are not."""

import gc
import signal

import pytest

import groupflow

assert groupflow.__doc__, "it tells gRPC to leave forks alone, before a test loads gRPC"

FAST_SECONDS = 1.0
LIMITS = {"rare": 900, "slow": 300}
"""seconds for one test, on a machine with much else to do; others have the `timeout` of pyproject.toml"""
_late: dict[str, float] = {}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for marker, seconds in LIMITS.items():
            if item.get_closest_marker(marker) and item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(seconds))


def pytest_collection_finish() -> None:
    """Modules and tests stay to the end: the garbage collector, without them, takes 5 % less of the time."""
    gc.collect()
    gc.freeze()


def pytest_configure() -> None:
    """A shell lets background jobs ignore SIGINT; programs under test must not inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" and report.duration > FAST_SECONDS:
        _late[report.nodeid] = report.duration


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Names the slow tests in a run without slow tests: each needs the marker, or a cure.

    A slow test is no failure: on a busy machine any test may take that long.
    """
    if _late and "not slow" in config.option.markexpr:
        terminalreporter.section(f"took more than {FAST_SECONDS:g} s without the marker `slow`")
        for name, seconds in sorted(_late.items(), key=lambda late: -late[1]):
            terminalreporter.write_line(f"{seconds:6.1f} s  {name}")
