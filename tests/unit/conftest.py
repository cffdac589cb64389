"""Property tests without limits of time; stand-ins for gfagent, first on PATH."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# On a busy machine any case may take long: pytest's limit of a test's time is the only one.
settings.register_profile(
    "unhurried", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")


@pytest.fixture
def gfagent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Installs the script as gfagent; its arguments and token are in the files `arguments` and `token`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    # A copy of the interpreter's place without a gfagent beside it: PATH decides.
    monkeypatch.setattr(sys, "executable", str(folder / "python"))

    def install(script: str) -> Path:
        program = folder / "gfagent"
        program.write_text(
            "#!/bin/sh\n"
            f'echo "$@" >{tmp_path}/arguments\n'
            f'echo "$GROUPFLOW_TOKEN" >{tmp_path}/token\n'
            'event() { echo "{\\"event\\":\\"$1\\",\\"time\\":1.5$2}"; }\n'
            f"{script}\n"
        )
        program.chmod(0o755)
        return program

    return install


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Installs fake_server.py as gfagent. Returns the file of its recorded orders."""
    folder = tmp_path / "bin"
    folder.mkdir()
    python = sys.executable
    source = (Path(__file__).parents[1] / "support" / "fake_server.py").read_text()
    program = folder / "gfagent"
    program.write_text(f"#!{python}\n{source}")
    program.chmod(0o755)
    # A copy of the interpreter's place without a gfagent beside it: PATH decides.
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    file = tmp_path / "told"
    file.touch()
    monkeypatch.setenv("GATHER_TOLD", str(file))
    return file
