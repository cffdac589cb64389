"""A stand-in for gfagent: as a server it reports what its settings would give; as a client it records its
orders.

Bytes from stdin are written to the file that the environment's GATHER_TOLD names.
"""

import io
import json
import os
import select
import sys
from pathlib import Path
from typing import Any

TOLD = Path(os.environ["GATHER_TOLD"])


def say(event: str, **fields: object) -> None:
    print(json.dumps({"event": event, "time": 1.5, "role": sys.argv[1], "name": "x", **fields}), flush=True)


def measured(client: str, number: int, given: dict[str, Any]) -> dict[str, Any]:
    window = given["window"]
    rate = 2_000_000 if window is None else window * 8 / 0.1
    return {
        "client": client, "stream": "00ff", "throughput_bps": rate, "delivered_bps": rate,
        "bytes": 1000 * number, "rtt_ms": None, "server_rtt_ms": 100.0, "rto_ms": 300.0, "loss_ratio": 0.0,
        "window": window, "advertised": window or 65536, "connections": given["connections"], "wanted": 1,
        "held": 0, "room": 4096,
    }  # fmt: skip


def serve() -> None:
    given: dict[str, dict[str, Any]] = {}
    # Not sys.stdin: of two lines that come together it would keep one, of which select does not know.
    stdin = io.FileIO(0)
    say("ready", addr="127.0.0.1", port=26490, clients=0)
    for number in range(1, 10_000):
        say("round", round=number, seconds=0.5, clients=[measured(n, number, given[n]) for n in given])
        ready, _, _ = select.select([stdin], [], [], 0.02)
        if not ready:
            continue
        line = stdin.readline()
        if not line:
            return
        with TOLD.open("ab") as told:
            told.write(line)
        order = json.loads(line)
        if any(each["client"] == "unwanted" for each in order.get("clients", [])):
            say("tune_refused", id=order["id"], field="request.clients", text="request.clients must be fewer")
            continue
        if "clients" in order:
            names = [each["client"] for each in order["clients"]]
            given = {name: given.get(name, {"window": None, "connections": 1}) for name in names}
        for each in order.get("tune", []):
            given[each["client"]] = {"window": each["window"], "connections": each["connections"]}
        say("tuned", id=order["id"], clients=1, seconds=0.0001)


if sys.argv[1] == "gather-serve":
    serve()
else:
    TOLD.write_text(json.dumps({"arguments": sys.argv[1:], "token": os.environ.get("GROUPFLOW_TOKEN")}))
    if sys.argv[sys.argv.index("--client") + 1] == "nobody":
        say("error", code="refused", cause="the server knows no client nobody", cure="add it", exit=4)
        sys.exit(4)
    say("started", stream="00ff", **{"from": 0})
    size = 5
    if sys.argv[sys.argv.index("--client") + 1] in ("piper", "cam3"):
        size = len(sys.stdin.buffer.read())
    say("complete", bytes=size, seconds=1.0, human=f"complete, {size} bytes in 1.00 s")
