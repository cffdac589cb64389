"""The bound of a test command: it counts work, not waiting for other programs."""

import subprocess
import sys

import pytest

BUSY = "import time\nwhile time.process_time() < 0.5: pass"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "bound", "code"),
    [
        pytest.param(f'{sys.executable} -c "{BUSY}"', 0.1, 1, id="late"),
        pytest.param(f'{sys.executable} -c "{BUSY}"', 30, 0, id="in time"),
        ("sleep 0.4", 0.1, 0),
        ("exit 3", 30, 1),
    ],
)
def test_parts_fail_when_they_fail_or_work_for_too_long(command: str, bound: float, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "scripts/parts.py", f"--bound={bound}", f"part={command}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert ("more processor time than 0.1 s on 2 cores" in done.stderr) == (code == 1 and bound < 1)
