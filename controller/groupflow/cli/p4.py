"""`groupflow p4`: checks and compiles P4 programs of one's own."""

import json
import sys
from pathlib import Path
from typing import Annotated, TypeAlias

from groupflow.cli.common import Common, check_folder
from groupflow.compiler import Compiled, CompileError, compile_p4, run_p4c
from groupflow.errors import InvalidError
from groupflow.model.fields import Help
from groupflow.model.values import Name

File: TypeAlias = Annotated[Path, Help("P4_16 program for v1model", "FILE")]
Include: TypeAlias = Annotated[tuple[Path, ...], Name("-I"), Help("folder of included files", "FOLDER")]
Define: TypeAlias = Annotated[tuple[str, ...], Name("-D"), Help("macro: NAME, or NAME=VALUE", "MACRO")]


def check(common: Common, file: File, *, include: Include = (), define: Define = ()) -> int:
    """Print the errors and warnings of a P4 program; the exit code is 1 if it has errors."""
    return 0 if _compiled(common, file, include, define) else 1


def compile_(
    common: Common,
    file: File,
    *,
    include: Include = (),
    define: Define = (),
    out: Annotated[Path | None, Help("folder of the results (default: FILE's)", "FOLDER")] = None,
    p4c: Annotated[bool, Help("compile with p4c, where it is on PATH")] = False,
) -> int:
    """Compile a P4 program to BMv2's JSON and P4Info."""
    check_folder(out)
    made = _compiled(common, file, include, define, p4c=p4c)
    if made is None:
        return 1
    written = made.write(out or file.parent, file.stem)
    if not common.quiet:
        print(f"groupflow: wrote {written[0]} and {written[1].name}", file=sys.stderr)
    return 0


def _compiled(
    common: Common, file: Path, include: tuple[Path, ...], define: tuple[str, ...], *, p4c: bool = False
) -> Compiled | None:
    """The program, or None after its errors are printed."""
    defines = {name: value or "1" for name, _, value in (macro.partition("=") for macro in define)}
    for folder in include:
        if not folder.is_dir():
            raise InvalidError(f"-I {folder}: no such folder; name one with included files")
    try:
        made = (run_p4c if p4c else compile_p4)(file, include=include, defines=defines)
        messages = made.warnings
    except CompileError as error:
        made, messages = None, error.messages
    if common.json:
        print(json.dumps(messages))
    elif messages:
        print("\n\n".join(one["text"] for one in messages), file=sys.stderr)
    return made
