"""`groupflow schema`: editors refuse what the readers refuse, and take what the readers take."""

import json
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, TypeAlias, cast

import pytest
import yaml
from jsonschema import Draft202012Validator

from groupflow.cli.main import main
from groupflow.files.topology import load
from tests.unit.control.gather import test_clients
from tests.unit.files import test_repetition, test_topology
from tests.unit.sim import test_fifo_options, test_reader

Takes: TypeAlias = Callable[[str, str], bool]
ROOT = Path(__file__).parents[3]
SHIPPED = sorted((ROOT / "topologies").glob("*.yaml"))
SHAPE = re.compile(
    r"unknown (key|kind|variant)|: missing(; write|$)|cannot be read|is no loss|x/24' is no address"
    r"|not a mapping|bad name|token: will not do|-1 will|256 will|high. will|write a number from"
    r"|write two names|write 1 to 1000000 packets"
)
"""refusals that need to know nothing but the place in the file"""
BEYOND = re.compile(r"on_for")
"""asked for by another field"""


def bad_shapes() -> list[tuple[str, str]]:
    tables = [
        ("topology", test_topology.SMALL, test_topology.ERRORS),
        ("scenario", test_reader.SMALL, test_reader.ERRORS),
        ("scenario", test_fifo_options.LINE, test_fifo_options.ERRORS),
        ("clients", test_clients.GOOD, test_clients.ERRORS),
    ]
    return [
        (kind, text.replace(old, new, 1))
        for kind, text, errors in tables
        for old, new, message in errors
        if SHAPE.search(message) and not BEYOND.search(message)
    ]


@pytest.fixture(scope="module")
def takes() -> Takes:
    """Whether the schema of a kind of file takes a text."""

    @cache
    def validator(kind: str) -> Any:
        with redirect_stdout(StringIO()) as told:
            assert main(["schema", kind]) == 0
        schema = json.loads(told.getvalue())
        validator = cast(Any, Draft202012Validator)  # its types are partly unknown
        validator.check_schema(schema)
        return validator(schema)

    return lambda kind, text: validator(kind).is_valid(yaml.safe_load(text))


@pytest.mark.parametrize("path", SHIPPED, ids=[path.stem for path in SHIPPED])
def test_topologies_are_taken_by_schema_and_reader(path: Path, takes: Takes) -> None:
    assert takes("topology", path.read_text()) and load(path).links


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("topology", test_topology.SMALL),
        ("topology", test_repetition.HALL),
        ("scenario", test_reader.SMALL),
        ("scenario", test_fifo_options.LINE),
        ("scenario", "topology: star.yaml\nduration: 1s"),
        ("clients", test_clients.GOOD),
    ],
)
def test_good_files_are_taken(kind: str, text: str, takes: Takes) -> None:
    assert takes(kind, text)


@pytest.mark.parametrize(("kind", "text"), bad_shapes())
def test_bad_shapes_are_not_taken(kind: str, text: str, takes: Takes) -> None:
    assert not takes(kind, text)


def test_the_tables_have_bad_shapes_of_every_kind_of_file() -> None:
    kinds = [kind for kind, _ in bad_shapes()]
    assert all(kinds.count(kind) >= 10 for kind in ("topology", "scenario", "clients"))
