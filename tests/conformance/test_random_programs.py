"""Random programs give the same packets through p4c and through groupflow's compiler."""

import shutil
from pathlib import Path

import pytest

from tests.conformance.random_programs import ENDS, REFUSED, difference, shortened
from tests.conformance.random_writer import Writer


@pytest.mark.rare  # some seconds a program, with p4c
@pytest.mark.timeout(600)
@pytest.mark.skipif(not shutil.which("p4c-bm2-ss"), reason="p4c-bm2-ss is not on PATH")
def test_random_programs_give_p4cs_packets(tmp_path: Path) -> None:
    found = {seed: difference(Writer(seed).program(), tmp_path, seed) for seed in range(1, 13)}
    assert {seed: text for seed, text in found.items() if text not in ("", ENDS, REFUSED)} == {}
    assert list(found.values()).count("") > 4


def test_a_program_is_shortened_to_what_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def has_b(lines: list[str], *_: object) -> bool:
        return any("b" in line for line in lines)

    monkeypatch.setattr("tests.conformance.random_programs.differs", has_b)
    assert shortened("if (a) {\n    b;\n    c;\n}\nd;\n", tmp_path, 1) == "    b;\n"
