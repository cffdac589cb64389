"""The build of the Rust programs, of which `make setup` repeats what is out of date."""

from pathlib import Path

DATAPLANE = Path(__file__).parents[3] / "dataplane"


def test_compiled_python_modules_build_nothing_again() -> None:
    """Python stores modules beside the .proto files, the only files of that folder that cargo is to watch."""
    outputs = DATAPLANE.glob("target/release/build/groupflow-switch-*/output")
    newest = max(outputs, key=lambda path: path.stat().st_mtime).read_text().splitlines()
    watched = [line.partition("=")[2] for line in newest if line.startswith("cargo:rerun-if-changed=")]
    assert {Path(path).name for path in watched} >= {"p4runtime.proto", "p4info.proto", "status.proto"}
    assert all(path.endswith(".proto") and Path(path).is_file() for path in watched), watched
