"""The Python API of a client, over a stand-in for gfagent."""

import ast
import json
import re
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, cast

import pytest

from groupflow import GatherSender
from groupflow.agents.errors import AgentError, ClientError

SERVER = "10.0.0.1:26490"


def arguments(told: Path) -> dict[str, Any]:
    """The arguments that gfagent was started with."""
    return json.loads(told.read_text())


async def test_what_is_written_is_sent_and_the_end_waits_for_it(told: Path, tmp_path: Path) -> None:
    file = tmp_path / "more"
    file.write_bytes(b"x" * 1000)
    async with GatherSender(
        SERVER, "piper", "c0ffee", tls_pin="ab" * 32, congestion="reno", retry=3
    ) as stream:
        assert stream.result is None
        await stream.write(b"hello ")
        await stream.write_file(file)
    said = arguments(told)
    assert said["token"] == "c0ffee" and "c0ffee" not in said["arguments"]
    assert said["arguments"] == [
        "gather-send", "--client", "piper", "--to", SERVER, "--congestion", "reno", "--retry", "3",
        "--tls-pin", "ab" * 32, "--json",
    ]  # fmt: skip
    assert stream.result is not None and stream.result.integer("bytes") == 1006


async def test_a_refusal_comes_before_anything_is_sent(told: Path) -> None:
    with pytest.raises(AgentError, match="the server knows no client nobody; add it") as caught:
        async with GatherSender(SERVER, "nobody", "c0ffee", plain=True):
            pass
    assert caught.value.exit_code == 4


async def test_a_block_that_fails_does_not_wait_for_the_end(told: Path) -> None:
    stream = GatherSender(SERVER, "piper", "c0ffee", plain=True)
    with pytest.raises(ZeroDivisionError):
        async with stream:
            raise ZeroDivisionError
    assert stream.result is None


@pytest.mark.parametrize(
    "known", [{}, {"plain": True, "tls_pin": "ab"}, {"tls_pin": "ab", "tls_ca": Path("ca.pem")}]
)
def test_how_the_server_is_known_must_be_said_once(known: dict[str, Any]) -> None:
    with pytest.raises(ClientError, match="pass one of tls_pin, tls_ca and plain=True"):
        GatherSender(SERVER, "a", "c0ffee", **known)


async def test_a_file_that_is_not_there(told: Path, tmp_path: Path) -> None:
    async with GatherSender(SERVER, "piper", "c0ffee", plain=True) as stream:
        with pytest.raises(ClientError, match="no such file"):
            await stream.write_file(tmp_path / "none")


async def test_the_example_of_the_docs_works(
    told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Path(__file__).parents[4] / "docs" / "how-to" / "gather.md"
    (example,) = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "video.mp4").write_bytes(b"x" * 100)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GROUPFLOW_TLS_PIN", "ab" * 32)
    code = compile(example, page.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    await cast(Coroutine[Any, Any, None], eval(code, {}))
    assert capsys.readouterr().out == "105 bytes are at the server\n"
    assert arguments(told)["arguments"][5:7] == ["--tls-pin", "ab" * 32]
