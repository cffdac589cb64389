"""`make setup` builds only what changed, also in a copied checkout; cargo and rustc are stand-ins."""

import os
import re
import shutil
import subprocess
import venv
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
BUILD = """
echo . >>../builds
mkdir -p target/release
tee <src/lib.rs target/release/{gfswitch,gfagent,lib_native.so}
"""
PROGRAMS = {"cargo": BUILD, "rustc": "echo rustc 1.${RUST-80}.0", "dpkg-query": "echo installed"}


class Checkout:
    """The least that the script needs, with all Debian and Python packages there."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder = folder
        self.environment = {"PATH": f"{programs}:{os.environ['PATH']}"}

    def copied(self, to: Path) -> "Checkout":
        shutil.copytree(self.folder, to, symlinks=True)
        return Checkout(to, Path(self.environment["PATH"].partition(":")[0]))

    def builds(self, **environment: str) -> int:
        """Sets the checkout up. Returns how often cargo was called."""
        calls = self.folder / "builds"
        calls.write_text("")
        subprocess.run(
            [self.folder / "scripts/setup.sh"],
            env=self.environment | environment,
            check=True,
            capture_output=True,
            timeout=30,
        )
        return len(calls.read_text().splitlines())

    def installed(self) -> set[str]:
        names = (".venv/bin/gfswitch", ".venv/bin/gfagent", "controller/groupflow/_native.abi3.so")
        return {(self.folder / name).read_text() for name in names}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    folder, programs = tmp_path / "first", tmp_path / "programs"
    for name in ("scripts", "dataplane/src", "dataplane/tests", "controller/groupflow"):
        (folder / name).mkdir(parents=True)
    for name in ("scripts/setup.sh", "requirements.txt", "pyproject.toml", "dataplane/Cargo.toml"):
        shutil.copy(ROOT / name, folder / name)
    (folder / "dataplane/src/lib.rs").write_text("one\n")
    venv.create(folder / ".venv", with_pip=False, symlinks=True)
    configuration = folder / ".venv/pyvenv.cfg"
    without_options = re.sub(r"-m venv .*? /", "-m venv /", configuration.read_text())
    configuration.write_text(without_options)
    (folder / ".venv/bin/pip").write_text(f"#!{folder}/.venv/bin/python\n")
    (folder / ".venv/bin/pip").chmod(0o755)
    (packages,) = folder.glob(".venv/lib/python*/site-packages")
    (finsy,) = re.findall(r"^finsy==(\S+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    (packages / f"finsy-{finsy}.dist-info").mkdir()
    (packages / "groupflow.pth").write_text(f"{folder}/controller")
    shutil.copy(ROOT / "requirements.txt", folder / ".venv/.requirements")
    installed = [(ROOT / name).read_text() for name in ("pyproject.toml", "dataplane/Cargo.toml")]
    (folder / ".venv/.groupflow").write_text("".join(installed))
    programs.mkdir()
    for name, script in PROGRAMS.items():
        (programs / name).write_text(f"#!/bin/bash\n{script}\n")
        (programs / name).chmod(0o755)
    return Checkout(folder, programs)


def test_only_a_change_of_sources_compiler_or_programs_builds_again(checkout: Checkout) -> None:
    assert (checkout.builds(), checkout.builds()) == (1, 0)
    (checkout.folder / "dataplane/src/lib.rs").touch()
    (checkout.folder / "dataplane/tests/test.rs").write_text("a test is no part of the programs")
    assert checkout.builds() == 0
    (checkout.folder / "dataplane/src/lib.rs").write_text("two\n")
    assert checkout.builds() == 1 and checkout.installed() == {"two\n"}
    (checkout.folder / "dataplane/src/new.rs").touch()
    assert (checkout.builds(), checkout.builds()) == (1, 0)
    (checkout.folder / ".venv/bin/gfagent").write_text("damaged")
    assert checkout.builds() == 1 and checkout.installed() == {"two\n"}
    assert (checkout.builds(RUST="81"), checkout.builds(RUST="81")) == (1, 0)


def test_a_copied_checkout_builds_nothing_and_uses_its_own_folders(
    checkout: Checkout, tmp_path: Path
) -> None:
    assert checkout.builds() == 1
    copy = checkout.copied(tmp_path / "copy")
    shutil.rmtree(checkout.folder)
    assert copy.builds() == 0
    (path,) = copy.folder.glob(".venv/lib/python*/site-packages/groupflow.pth")
    assert path.read_text() == f"{copy.folder}/controller"
    assert (copy.folder / ".venv/bin/pip").read_text() == f"#!{copy.folder}/.venv/bin/python\n"
    (copy.folder / "dataplane/src/lib.rs").write_text("two\n")
    assert copy.builds() == 1 and copy.installed() == {"two\n"}
