"""Alternatives on the paper's line: drop-tail queues, marks (ECN), and pauses hop by hop (XOFF).

The line, the hosts and the TCP parameters are those of `network.py`; the nodes are routers without P4.

- "drop-tail": one queue a link, as TCP alone has in the paper.
- "ecn": the same queue marks a packet that finds so many waiting (a ninth of the buffer, unless the run gives
  a number); TCP answers as to a loss.
- "xoff": each node stops a neighbour before its buffer is full. Each neighbour upstream gets an equal part of
  the buffer, less the headroom that its link needs, and sends again when its packets have fallen to two
  thirds of that. A source's link has the line's rate: a pause can hold packets that wait before an interface,
  not those already in node 1.

A fair comparison gives the sources' links the line's rate with the other methods, too (`paced`): otherwise
bursts of slow start overflow the queue of node 1.
"""

import math
from dataclasses import replace

from groupflow import sim
from papers.takano import network
from papers.takano.paper import PACKET_BYTES, Case
from papers.takano.plan import Run

ECN_PART = 9
XON_PART = 2 / 3
FRAMES_BEGUN = 2
"""one that the node is sending when it has to tell the neighbour, and one that the neighbour is sending"""


def scenario(run: Run) -> sim.Scenario:
    """The run on routers that follow its method."""
    case = run.case
    base = network.scenario(replace(run, paced=run.paced or run.control == "xoff"))
    flows = base.flows
    if run.control == "ecn":
        flows = tuple(replace(f, traffic=replace(network.traffic(case), ecn=True)) for f in flows)
    nodes = range(1, case.nodes + 1)
    return replace(
        base,
        flows=flows,
        kinds={network.switch(node): "fifo" for node in nodes},
        fifos={network.switch(node): options(run, node) for node in nodes},
    )


def options(run: Run, node: int) -> sim.FifoOptions:
    """The early actions of a node before its queue is full."""
    case = run.case
    if run.control == "ecn":
        return sim.FifoOptions(ecn=max(case.buffer // ECN_PART, 1) if run.ecn is None else run.ecn)
    return _pauses(case, node) if run.control == "xoff" else sim.FifoOptions()


def _pauses(case: Case, node: int) -> sim.FifoOptions:
    delays = upstream_delays(case, node)
    room = case.buffer - sum(headroom(case, delay) for delay in delays)
    # A queue that holds all of the buffer drops the next packet: xoff stays below it.
    xoff = min(room // len(delays), case.buffer - 1)
    return sim.FifoOptions(xoff=xoff, xon=math.floor(xoff * XON_PART))


def upstream_delays(case: Case, node: int) -> list[int]:
    """The delay (ns) of each link by which data comes to the node: from the node before, and from sources."""
    line = [case.link_delays_ns[node - 2]] if node > 1 else []
    return line + [0 for source in case.sources if source.node == node]


def headroom(case: Case, delay_ns: int) -> int:
    """Packets that arrive by a link after its pause was due: two delays at its rate, and frames begun."""
    bits = 2 * delay_ns * case.bandwidth_bps / 1e9
    return math.ceil(bits / (8 * PACKET_BYTES)) + FRAMES_BEGUN
