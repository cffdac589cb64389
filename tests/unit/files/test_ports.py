"""Default ports: all differ, each is written once in Python, and those of gfagent are the same in Rust."""

import ast
import re
from pathlib import Path

import pytest

from groupflow.model import ports

ROOT = Path(__file__).parents[3]
PORTS = {name: value for name, value in vars(ports).items() if name.isupper()}
IN_RUST = {
    "SPLIT": ("apps/split/src/agent/args.rs", "default_value_t = {}"),
    "GATHER": ("apps/gather/src/agent/args.rs", 'default_value = "0.0.0.0:{}"'),
    "BONE_GROUP": ("apps/bone/src/agent/args.rs", 'default_value = "239.83.84.1:{}"'),
    "BONE_HUB": ("gfagent/src/main.rs", 'default_value("{}")'),
    "HUB_HTTP": ("apps/bone/src/agent/args.rs", 'default_value = "127.0.0.1:{}"'),
    "RIM_HTTP": ("apps/bone/src/agent/args.rs", 'default_value = "0.0.0.0:{}"'),
}


def test_no_two_programs_listen_at_the_same_port() -> None:
    """As `groupflow tree serve` and a probe once did."""
    assert len(set(PORTS.values())) == len(PORTS) >= 10


@pytest.mark.parametrize("name", IN_RUST)
def test_gfagent_has_the_same_default(name: str) -> None:
    path, written = IN_RUST[name]
    assert written.format(PORTS[name]) in (ROOT / "dataplane" / path).read_text()


def test_no_other_module_of_the_package_names_a_default_port() -> None:
    address = re.compile(rf"[\w./:]*:({'|'.join(map(str, PORTS.values()))})")
    found: list[str] = []
    for path in (ROOT / "controller/groupflow").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and path.name != "ports.py":
                value = node.value
                if value in PORTS.values() or (isinstance(value, str) and address.fullmatch(value)):
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {value!r}")
    assert not found, "import groupflow.model.ports instead"
