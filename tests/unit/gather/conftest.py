"""gfagent as a stand-in, first on PATH."""

import sys
from pathlib import Path

import pytest


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Installs the stand-in; gives the file where it writes what it was told."""
    folder = tmp_path / "bin"
    folder.mkdir()
    python = sys.executable
    source = (Path(__file__).parent / "fake_server.py").read_text()
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
