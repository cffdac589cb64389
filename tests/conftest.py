"""Rules for every test: tests that `make check` runs are fast, or say that they are not."""

import pytest

FAST_SECONDS = 1.5
_late: dict[str, float] = {}


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
