"""Reads the logs of a compiler for Tofino: p4c's back end, or bf-p4c of the P4 Studio."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from groupflow.errors import InvalidError, reason

Json: TypeAlias = Any
AGAIN = "compile the program by `bf-p4c -g` or `p4c-barefoot -g --create-graphs`"


@dataclass(frozen=True)
class Logs:
    """The logs of one pipe; None: there is no such file."""

    folder: Path
    resources: Json
    phv: Json
    graph: Json
    manifest: Json


def read(folder: Path) -> tuple[Logs, ...]:
    """The logs of each pipe below a compiler's folder of results. Raises InvalidError."""
    try:
        inside = sorted(each for each in folder.iterdir() if each.is_dir())
    except OSError as error:
        raise InvalidError(f"{folder}: {reason(error)}; name the folder that the compiler wrote") from None
    pipes = [each for each in (folder, *inside) if (each / "logs/resources.json").is_file()]
    if not pipes:
        raise InvalidError(f"{folder}: no logs/resources.json is in it, nor in a pipe's folder; {AGAIN}")
    names = "logs/resources.json", "logs/phv.json", "graphs/dep.json", "../manifest.json"
    return tuple(Logs(pipe, *(_document(pipe / name) for name in names)) for pipe in pipes)


def _document(file: Path) -> Json:
    try:
        return json.loads(file.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidError(f"{file}: cannot be read as JSON ({reason(error)}); {AGAIN}") from None


@contextmanager
def reading(file: Path) -> Generator[None]:
    """Turns what a log of another form, or a damaged one, makes the block raise into an InvalidError."""
    try:
        yield
    except KeyError as error:
        raise InvalidError(f"{file}: {error} is missing; {AGAIN} of a newer version") from None
    except (TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise InvalidError(f"{file}: no log of a known form ({reason(error)}); {AGAIN}") from None
