"""The report of a compiler's logs: numbers, chains, advice, picture; and logs that are odd or damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from groupflow.cli.main import main
from groupflow.errors import InvalidError
from groupflow.fit.logs import read
from groupflow.fit.order import Dependency
from groupflow.fit.picture import draw
from groupflow.fit.report import Report, report
from tests.unit.fit import logs


def made(folder: Path, **changed: Any) -> Report:
    (pipe,) = read(logs.write(folder, **changed))
    return report(pipe)


def test_what_stages_tables_parsers_and_containers_take(tmp_path: Path) -> None:
    found = made(tmp_path)
    assert found.summary == "3 of 12 stages of tofino; dependencies alone need 2"
    assert [stage["sram"] for stage in found.stages] == [80, 20, 2]
    assert (found.stages[0]["tcam"], found.stages[0]["hash_bit"]) == (6, 20)
    most = {"sram": 80, "tcam": 24, "map_ram": 48, "meter_alu": 4, "counter_alu": 4, "hash_bit": 416}
    assert found.available == {**most, "gateway": 16, "instruction": 32, "table_id": 16}
    tables = {table.name: table for table in found.tables}
    assert list(tables) == ["acl", "routes", "meters", "rewrite"]
    assert tables["routes"].stages == (0, 1)
    assert tables["routes"].uses == {"sram": 100, "hash_bit": 20}
    assert tables["meters"].uses == {"sram": 1, "meter_alu": 1, "hash_bit": 10}, "those of its register, too"
    parsers = ({"gress": "ingress", "states": 2, "rows": 3}, {"gress": "egress", "states": 1, "rows": 1})
    assert found.parsers == parsers
    assert found.containers == ({"kind": "normal", "bits": 8, "used": 2, "of": 64, "bits_used": 14},)


def test_dependencies_say_where_a_table_may_be(tmp_path: Path) -> None:
    found = made(tmp_path)
    places = {table.name: (table.gress, table.earliest, table.latest, table.behind) for table in found.tables}
    assert places == {
        "routes": ("ingress", 0, 10, ()),
        "acl": ("ingress", 0, 11, ()),
        "rewrite": ("ingress", 1, 11, ("routes",)),
        "meters": ("egress", 0, 11, ()),
    }
    assert found.stages_needed == {"ingress": 2, "egress": 1}
    chain = Dependency("routes", "rewrite", "matches on", ("meta.next_hop",))
    assert found.chains == {"ingress": (chain,), "egress": ()}


def test_the_largest_table_of_a_full_stage_is_to_move(tmp_path: Path) -> None:
    (advice,) = made(tmp_path).advice
    assert advice.startswith("stage 0: 80 of 80 SRAM, most of it routes's; it may move to stage 2, 3, 4, ")


def test_a_table_that_cannot_move_is_to_be_smaller(tmp_path: Path) -> None:
    (advice,) = made(tmp_path, resources=with_stages(2)).advice
    assert advice.endswith("; make it smaller")


def test_without_a_graph_or_containers_the_rest_is_told(tmp_path: Path) -> None:
    found = made(tmp_path, graph=None, phv=None, manifest=None)
    assert found.summary == "3 of 12 stages of a chip of 12"
    assert (found.containers, found.chains, found.tables[0].earliest) == ((), {}, None)
    told = [line.partition(":")[0] for line in found.advice]
    assert told == ["stage 0", "dep.json is missing", "phv.json is missing"]


def test_logs_of_an_older_form(tmp_path: Path) -> None:
    """Up to form 1.5 of resources.json its parts stand in a list of pipes."""
    old = logs.resources()
    old["resources"] = {"pipes": [old["resources"] | {"pipe_id": 0}]}
    assert made(tmp_path, resources=old).summary.startswith("3 of 12 stages")


def without(*keys: str) -> dict[str, Any]:
    changed = logs.resources()
    part = changed
    for key in keys[:-1]:
        part = part[key]
    del part[keys[-1]]
    return changed


def with_stages(count: int) -> dict[str, Any]:
    changed = logs.resources()
    changed["resources"]["mau"]["nStages"] = count
    return changed


def in_a_circle() -> dict[str, Any]:
    changed = logs.graph()
    changed["graphs"][0]["edges"].append(logs.edge(2, 0, "action", "output", "meta.next_hop"))
    return changed


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "none": ({"resources": None}, "no logs/resources.json is in it"),
    "empty": ({"resources": ""}, "resources.json: cannot be read as JSON"),
    "cut": ({"resources": json.dumps(logs.resources())[:500]}, "resources.json: cannot be read as JSON"),
    "bytes": ({"resources": "\0\1"}, "resources.json: cannot be read as JSON"),
    "a list": ({"resources": []}, "no log of a known form"),
    "no stages": ({"resources": without("resources", "mau")}, "resources.json: 'mau' is missing"),
    "no number of stages": ({"resources": without("resources", "mau", "nStages")}, "'nStages' is missing"),
    "stages without number": ({"resources": with_stages(10**30)}, "no log of a known form"),
    "no parsers": ({"resources": without("resources", "parser")}, "'parser' is missing"),
    "another PHV": ({"phv": {"containers": [{}]}}, "phv.json: 'container_type' is missing"),
    "a text for a list": ({"phv": {"containers": "none"}}, "phv.json: no log of a known form"),
    "no nodes": ({"graph": {"graphs": [{"metadata": {"gress": "ingress"}}]}}, "'nodes' is missing"),
    "a circle": ({"graph": in_a_circle()}, "dep.json: no log of a known form"),
}  # fmt: skip


@pytest.mark.parametrize(("changed", "text"), WRONG.values(), ids=WRONG.keys())
def test_damaged_logs_are_refused_in_a_line(tmp_path: Path, changed: dict[str, Any], text: str) -> None:
    logs.write(tmp_path, **changed)
    with pytest.raises(InvalidError) as refused:
        for pipe in read(tmp_path):
            report(pipe)
    assert text in str(refused.value) and ";" in str(refused.value) and "\n" not in str(refused.value)


def test_the_picture_is_one_svg_with_every_table(tmp_path: Path) -> None:
    picture = ElementTree.fromstring(draw(made(tmp_path)))
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    texts = {text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert {"routes *", "acl", "rewrite *", "meters", "sram (of 80)", "11"} <= texts
    hints = [hint.text or "" for hint in picture.iter("{http://www.w3.org/2000/svg}title")]
    assert "80 of 80" in hints and any(hint.startswith("routes: 100 sram") for hint in hints)


GOLDEN = Path(__file__).parent / "router.txt"


def test_the_command_prints_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, picture = str(logs.write(tmp_path)), tmp_path / "stages.svg"
    assert main(["fit", out, "--svg", str(picture)]) == 0
    assert capsys.readouterr().out == GOLDEN.read_text()
    assert picture.read_text().startswith("<svg ")
    assert main(["fit", out, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (len(found["stages"]), found["tables"][1]["name"], found["target"]) == (3, "routes", "tofino")


def test_each_pipe_has_a_report_and_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs.write(tmp_path)
    (tmp_path / "pipe").rename(tmp_path / "pipe_a")
    logs.write(tmp_path)
    assert main(["fit", str(tmp_path), "--svg", str(tmp_path / "stages.svg")]) == 0
    assert capsys.readouterr().out.count(": 3 of 12 stages") == 2
    assert sorted(file.name for file in tmp_path.glob("*.svg")) == ["stages-pipe.svg", "stages-pipe_a.svg"]


def test_a_folder_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", str(tmp_path / "absent")]) == 4
    assert capsys.readouterr().err.count("\n") == 1
