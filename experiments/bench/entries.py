"""Table entries over P4Runtime: how fast gfswitch takes and gives them, and the memory that they take."""

import json
import subprocess

from experiments.bench.figure import Figure
from experiments.bench.pipeline import BUILD
from experiments.bench.programs import example
from groupflow.agents.programs import find_program


def figures() -> list[Figure]:
    """A client in Rust on one connection (dataplane/switch/examples/entries.rs) and gfswitch, a core each."""
    program, p4info = BUILD / "groupflow.json", BUILD / "groupflow.p4info.txtpb"
    command = [example("groupflow-switch", "entries"), find_program("gfswitch"), program, p4info]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [Figure(*json.loads(line)) for line in done.stdout.splitlines()]
