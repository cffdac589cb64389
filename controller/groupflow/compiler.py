"""The P4 compiler: a program of one's own becomes BMv2's JSON and P4Info, as p4c makes them.

The compiler itself is dataplane/compiler. p4c can stand in for it, for what it does not know.
"""

import json
import re
import shutil
import subprocess
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from groupflow._native import compile_p4 as _compile
from groupflow.errors import Error, InvalidError, reason

_P4C = "p4c-bm2-ss"
_HEAD = r"^([^\n(]+)\((\d+)\)[^\n]*?(error|warning): ([^\n]*)"
_P4C_MESSAGE = re.compile(rf"{_HEAD}(?:\n(?!{_HEAD}).*)*", re.MULTILINE)

Message: TypeAlias = Mapping[str, Any]
"""an error or a warning: `severity`, `file`, `line`, `column`, `end_line`, `end_column` (from 1 on), `help`,
`message`, `notes` on other places, and `text`, which is all of it with the piece of the program"""


class CompileError(Error, ValueError):
    """A P4 program with errors. Its text has them all; `messages` also has the warnings."""

    def __init__(self, messages: Iterable[Message]) -> None:
        self.messages = tuple(messages)
        super().__init__("\n\n".join(one["text"] for one in self.messages if one["severity"] == "error"))


@dataclass(frozen=True)
class Compiled:
    """A compiled program."""

    json: str
    """for BMv2 and gfswitch"""
    p4info: str
    """as protobuf text"""
    warnings: tuple[Message, ...] = ()

    def write(self, folder: Path, stem: str) -> tuple[Path, Path]:
        """Writes `stem.json` and `stem.p4info.txtpb`."""
        folder.mkdir(parents=True, exist_ok=True)
        blob, p4info = folder / f"{stem}.json", folder / f"{stem}.p4info.txtpb"
        blob.write_text(self.json + "\n", encoding="utf-8")
        p4info.write_text(self.p4info, encoding="utf-8")
        return blob, p4info


def compile_p4(
    source: Path | str, *, include: Iterable[Path | str] = (), defines: Mapping[str, str] | None = None
) -> Compiled:
    """Compiles the P4_16 program for v1model in a file, or a program's text: a string of several lines.

    `include` are folders of included files, `defines` macros. Raises CompileError, InvalidError.
    """
    is_text = isinstance(source, str) and "\n" in source
    path, text = ("program.p4", str(source)) if is_text else (str(source), _read(Path(source)))
    blob, p4info, told = _compile(path, text, list(map(str, include)), list((defines or {}).items()))
    messages: list[Message] = json.loads(told)
    if blob is None or p4info is None:
        raise CompileError(messages)
    return Compiled(blob, p4info, tuple(messages))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InvalidError(f"{path}: {reason(error)}; name a P4 program") from None


@cache
def compiled_files(path: Path, folder: Path | None = None) -> tuple[Path, Path]:
    """JSON and P4Info of the program in a file, in `folder` or in one that is there while this process runs.

    Tells the compiler's warnings as Python's. Raises CompileError.
    """
    folder = folder or Path(_folder().name)
    made = compile_p4(path)
    for one in made.warnings:
        warnings.warn(one["text"].removeprefix("warning: "), stacklevel=2)
    # Another program may have this name.
    return made.write(folder / sha256(str(path.absolute()).encode()).hexdigest()[:12], path.stem)


@cache
def _folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="groupflow-p4-")


def run_p4c(path: Path, include: Iterable[Path] = (), defines: Mapping[str, str] | None = None) -> Compiled:
    """Compiles a file with p4c. Raises CompileError, and Error where p4c is not on PATH."""
    if shutil.which(_P4C) is None:
        raise Error(f"{_P4C} is not on PATH; install p4lang/p4c, or leave out --p4c")
    with TemporaryDirectory(prefix="groupflow-p4c-") as made:
        blob, p4info = Path(made, "out.json"), Path(made, "out.p4info.txtpb")
        words = [_P4C, "--p4runtime-files", str(p4info), "-o", str(blob)]
        words += [word for folder in include for word in ("-I", str(folder))]
        words += [f"-D{name}={value}" for name, value in (defines or {}).items()]
        done = subprocess.run([*words, str(path)], capture_output=True, text=True, check=False)
        messages = [
            {"severity": kind, "file": file, "line": int(line), "message": message, "text": one[0].rstrip()}
            for one in _P4C_MESSAGE.finditer(done.stderr)
            for file, line, kind, message in [one.groups()[:4]]
        ]
        if done.returncode or not blob.is_file():
            raise CompileError(messages or [{"severity": "error", "text": done.stderr.strip()}])
        return Compiled(blob.read_text(), p4info.read_text(), tuple(messages))
