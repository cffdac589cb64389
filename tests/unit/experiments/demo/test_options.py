"""Options of the demo, and the topology that they give."""

from pathlib import Path

import pytest

from experiments.demo.options import Options
from experiments.demo.run import check
from groupflow.cli import frame
from groupflow.cli.main import build_parser, main
from groupflow.lab import kernel_link
from groupflow.study import StudyError


def refusal(options: Options) -> str:
    with pytest.raises(StudyError) as refused:
        check(options)
    return str(refused.value)


def parse(line: list[str]) -> Options:
    parser = build_parser()
    return frame.filled(Options, vars(parser.parse_args(["demo", *line])))


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("", "members", 5),
        ("--members 1", "members", 1),
        ("--loss 0.01", "loss", 10_000_000),
        ("--loss 1%", "loss", 10_000_000),
        ("--rate 50mbit", "rate", 50_000_000),
        ("--delay 1s", "delay_ns", 10**9),
        ("--size 16MiB", "size", 16 << 20),
        ("--size 5", "size", 5),
        ("--switch bmv2", "switch", "bmv2"),
        ("--mode n2n", "mode", "n2n"),
        ("--policy isolate", "policy", "isolate"),
        ("--file x", "file", Path("x")),
        ("--no-baseline", "baseline", False),
    ],
)
def test_the_command_line(line: str, field: str, value: object) -> None:
    assert getattr(parse(line.split()), field) == value


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--members 0", "'0' will not do"),
        ("--members 6", "'6' will not do"),
        ("--loss 2", "'2' is no loss"),
        ("--rate fast", "'fast' cannot be read"),
        ("--rate unlimited", "'unlimited' cannot be read; write a number with bit, kbit, mbit or gbit"),
        ("--delay 5parsec", "cannot be read"),
        ("--size 0", "'0' will not do; write a size, as in '64MiB' from 1 on"),
        ("--mode x", "--mode x: unknown; write one of e2e, n2n"),
    ],
)
def test_bad_values_are_named(line: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(line.split())
    assert ended.value.code == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_the_topology_follows() -> None:
    topology = Options(members=2, rate=5_000_000, delay_ns=50_000_000).topology()
    assert len(topology.hosts) == 1 + 3 * 2 + 2
    assert topology.link_between("ma1", "s1").spec.rate == 5_000_000
    assert topology.link_between("s1", "s2").spec.delay_ns == 50_000_000
    assert topology.link_between("ma1", "s1").spec.delay_ns == 10_000_000


def test_a_run_with_loss_stands_beside_one_without() -> None:
    assert Options().losses == (0, 10_000_000) and Options(loss=7).losses == (0, 7)
    assert Options(loss=0).losses == (0,)
    assert {link.spec.loss for link in Options(loss=7).topology().links} == {0}, "set for the second run"


def test_bmv2_gets_a_rate_that_it_can_carry() -> None:
    assert Options(switch="bmv2").topology().link_between("ma1", "s1").spec.rate == 10_000_000
    assert Options(switch="bmv2", rate=2).topology().link_between("ma1", "s1").spec.rate == 2


def test_what_bmv2_does_not_emulate_is_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {link.spec.delay_ns for link in Options(switch="bmv2").topology().links} == {0}
    assert "BMv2 does not emulate links" in refusal(Options(switch="bmv2", delay_ns=5))
    monkeypatch.setattr(kernel_link, "is_offered", lambda: False)
    assert "install nftables" in refusal(Options(switch="bmv2", loss=1))
    assert Options(switch="bmv2").losses == (0,)
    monkeypatch.setattr(kernel_link, "is_offered", lambda: True)
    assert Options(switch="bmv2", loss=1).losses == (0, 1)


def test_a_file_that_cannot_be_sent_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").touch()
    assert "no such file; name a file with --file" in refusal(Options(file=tmp_path / "absent"))
    assert "not a regular file" in refusal(Options(file=tmp_path))
    assert "is empty" in refusal(Options(file=tmp_path / "empty"))
    assert main(["demo", "--file", str(tmp_path / "absent")]) == 4
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_without_root_it_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert main(["demo"]) == 1
    assert capsys.readouterr().err == ("groupflow: root is needed to make network namespaces; use sudo\n")
