"""What the pages show of real networks, pasted as it stands: as a user with sudo, where no checkout is."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.pasted import like, run_programs
from tests.unit.docs.pages import DOCS, ROOT, blocks
from tests.unit.docs.test_programs import lesson_folder

pytestmark = pytest.mark.network
SUDO = """#!/bin/sh
[ "$1" = -E ] || exec env -i SUDO_UID=0 SUDO_GID=0 PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"
shift
exec "$@"
"""
"""keeps of the environment what sudo keeps"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/sudo").write_text(SUDO)
    (tmp_path / "bin/sudo").chmod(0o755)
    return tmp_path


def paste(page: Path, place: Path) -> None:
    """Runs a page's shell blocks, with what its console block shows typed at the network's prompt."""
    lesson_folder(page, place)
    (shown,) = (block.text for block in blocks(page, "console"))
    script = "\n".join(block.text for block in blocks(page, "sh"))
    typed = "\n".join(re.findall(r"^groupflow> (.*)$", shown, re.MULTILINE))
    script = script.replace(" --cli\n", f" --cli >out/console 2>&1 <<TYPED\n{typed}\nTYPED\n")
    done = subprocess.run(
        ["bash", "-eu"], input=f"{script}\nwait\n", cwd=place, capture_output=True, text=True, timeout=200,
        env={**os.environ, "PATH": f"{place}/bin:{os.environ['PATH']}"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    console = (place / "out/console").read_text().rstrip()
    pattern = like(re.sub(r"^groupflow> .*\n", "groupflow> ", shown, flags=re.MULTILINE).rstrip())
    assert pattern.fullmatch(console), f"{console}\n\n{pattern.pattern}"
    for block in blocks(page, "message"):
        assert block.text in done.stderr


@pytest.mark.slow
def test_the_first_p4_program_as_it_is_pasted(place: Path) -> None:
    paste(DOCS / "tutorials/first-p4.md", place)


@pytest.mark.slow
def test_the_first_network_as_it_is_pasted(place: Path) -> None:
    paste(DOCS / "tutorials/first-network.md", place)
    sent = (place / "out/data.bin").read_bytes()
    copies = ("copy2.bin", "copy3.bin", "net/hall/h2-data.bin", "net/hall/h3-data.bin")
    assert all((place / "out" / name).read_bytes() == sent for name in copies)


@pytest.mark.slow
def test_a_network_from_python_as_it_is_pasted(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    for printed, shown in run_programs(blocks(DOCS / "how-to/python.md")):
        assert printed == shown
