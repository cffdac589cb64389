"""The build of the Rust programs, of which `make setup` repeats what is out of date."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[3]
DATAPLANE = ROOT / "dataplane"


def watched() -> list[str]:
    """The files for which cargo runs the build script of the switch again, from that crate's folder."""
    outputs = DATAPLANE.glob("target/release/build/groupflow-switch-*/output")
    newest = max(outputs, key=lambda path: path.stat().st_mtime).read_text().splitlines()
    return [line.partition("=")[2] for line in newest if line.startswith("cargo:rerun-if-changed=")]


def test_compiled_python_modules_build_nothing_again() -> None:
    """Python stores modules beside the .proto files, the only files of that folder that cargo is to watch."""
    paths = watched()
    assert {Path(path).name for path in paths} >= {"p4runtime.proto", "p4info.proto", "status.proto"}
    assert all(path.endswith(".proto") and (DATAPLANE / "switch" / path).is_file() for path in paths), paths


def test_a_copied_checkout_watches_files_of_the_same_names() -> None:
    """Cargo builds everything again when these change, so none is a whole path."""
    assert not any(Path(path).is_absolute() for path in watched())


def test_every_supported_system_is_tested_in_ci() -> None:
    script = (ROOT / "scripts/setup.sh").read_text()
    systems = re.findall(r"[a-z]+-[\d.]+", re.findall(r"^ +(.*)\) ;;$", script, re.MULTILINE)[-1])
    assert len(systems) == 3
    for name in ("check", "test"):
        jobs = yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text())["jobs"]
        debian = [f"debian-{version}" for version in jobs["debian"]["strategy"]["matrix"]["version"]]
        assert [*debian, jobs["ubuntu-24-04"]["runs-on"]] == systems
