"""Packets a second through gfswitch while clients attack its P4Runtime port, beside rounds of peace.

`groupflow bench attack` runs it alone. The load is fixed: it leaves some time of the sender's and the
switch's processors, which attackers and control plane take. `python -m experiments.bench.attack ADDRESS` is
an attacker.
"""

import asyncio
import json
import os
import signal
import statistics
import sys
import time
from contextlib import ExitStack, suppress

from finsy.p4client import P4Client, P4ClientError
from finsy.proto import U128, p4r

from experiments.bench import veth
from experiments.bench.figure import Figure
from experiments.bench.pipeline import data_frame
from groupflow.agents.programs import find_program
from groupflow.processes import Daemon

_RATE = "100000"
_ROUNDS = 9
_SECONDS = 1.0
_ATTACKERS = 3
_START_SECONDS = 3.0
_CALLS = 16


async def _attack(address: str) -> None:
    """Opens connections, reads everything, and writes without being primary, as fast as it can."""
    reads = p4r.ReadRequest(device_id=veth.DEVICE_ID)
    reads.entities.add().table_entry.SetInParent()
    write = p4r.WriteRequest(device_id=veth.DEVICE_ID, election_id=U128.encode(7))
    write.updates.add(type=p4r.Update.INSERT).entity.table_entry.table_id = 1
    while True:
        client = P4Client(address, wait_for_ready=True)
        await client.open(complete_request=None)
        with suppress(P4ClientError):
            await asyncio.gather(*map(client.request, [write] * _CALLS), return_exceptions=True)
            async for _ in client.request_iter(reads):
                pass
        await client.close()


def _inside(program: str) -> list[float]:
    """Packets/s that arrive in peace and under attack, and the ratio of one to the other: medians."""
    veth.prepare()
    switch = veth.Switch(program, 0, program)
    veth.wire(switch)
    address = f"127.0.0.1:{veth.FIRST_GRPC_PORT}"
    rounds: list[tuple[float, float]] = []
    with ExitStack() as stack:
        stack.callback(switch.stop)
        switch.start(1)
        command = [sys.executable, "-m", __spec__.name, address]
        attackers = [stack.enter_context(Daemon("an attacker", command, None)) for _ in range(_ATTACKERS)]
        pid = stack.enter_context(veth.sender(switch.host(1), data_frame(1), _RATE))
        time.sleep(_START_SECONDS)
        for _ in range(_ROUNDS):
            rates: list[float] = []
            for order in (signal.SIGSTOP, signal.SIGCONT):
                for attacker in attackers:
                    os.kill(attacker.pid, order)
                before, start = veth.counters(pid)[switch.host(2)][0], time.perf_counter()
                time.sleep(_SECONDS)
                arrived = veth.counters(pid)[switch.host(2)][0] - before
                rates.append(arrived / (time.perf_counter() - start))
            rounds.append((rates[0], rates[1]))
        switch.check()
    peace, attacked = map(statistics.median, zip(*rounds, strict=True))
    return [peace, attacked, statistics.median(attacked / peace for peace, attacked in rounds)]


def figures() -> list[Figure]:
    """The figure of gfswitch. Needs root."""
    peace, attacked, ratio = veth.run_apart("experiments.bench.attack", str(find_program("gfswitch")))
    note = f"{ratio:.2f} of {peace:,.0f} in peace; {_ATTACKERS} attackers on the same processors"
    return [Figure("veth, unicast, P4Runtime attacked", round(attacked), "packets/s out", note)]


if __name__ == "__main__":
    if sys.argv[1] == "--inside":
        json.dump(_inside(sys.argv[2]), sys.stdout)
    else:
        asyncio.run(_attack(sys.argv[1]))
