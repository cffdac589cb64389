"""Loss that the kernel emulates for switches that emulate no links. A link that is down loses every frame:
BMv2 hears no more of an interface that was down once.

A switch reads a frame before the kernel's rules see it, so frames are lost where they are sent.
"""

import shutil
import subprocess
from collections.abc import Iterable

from groupflow import units

PROGRAM = "nft"
ABSENT = f"no {PROGRAM} on PATH, which loses frames for BMv2; install nftables"


def loss_script(interface: str, loss: int) -> str:
    """Shell commands that lose this share of the frames that an interface sends."""
    table = f"netdev {_table(interface)}"
    chain = f'{{ type filter hook egress device "{interface}" priority 0; }}'
    rule = f"numgen random mod {units.PARTS} < {loss} drop" if loss < units.PARTS else "drop"
    # A table is added first, so that its deletion is no error.
    commands = [f"add table {table}", f"delete table {table}", f"add table {table}"]
    commands += [f"add chain {table} loss {chain}", f"add rule {table} loss {rule}"]
    return "\n".join((f"{PROGRAM} -f - <<'end'", *commands, "end"))


def is_offered() -> bool:
    return shutil.which(PROGRAM) is not None


def forget(interfaces: Iterable[str]) -> None:
    """Deletes what `loss_script` made for these interfaces, if it did."""
    if is_offered():
        for interface in interfaces:
            command = [PROGRAM, "delete", "table", "netdev", _table(interface)]
            subprocess.run(command, capture_output=True, check=False)


def _table(interface: str) -> str:
    return f"groupflow-{interface}"
