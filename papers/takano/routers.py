"""Alternatives on the paper's line: drop-tail queues, and marks (ECN).

The line, the hosts and the TCP parameters are those of `network.py`; the nodes are routers without P4.

- "drop-tail": one queue a link, as TCP alone has in the paper.
- "ecn": the same queue marks a packet that finds so many waiting (a ninth of the buffer, unless the run gives
  a number); TCP answers as to a loss.

A fair comparison gives the sources' links the line's rate (`paced`): otherwise bursts of slow start overflow
the queue of node 1.
"""

from dataclasses import replace

from groupflow import sim
from papers.takano import network
from papers.takano.plan import Run

ECN_PART = 9


def scenario(run: Run) -> sim.Scenario:
    """The run on routers that follow its method."""
    case = run.case
    base = network.scenario(run)
    flows = base.flows
    if run.control == "ecn":
        flows = tuple(replace(f, traffic=replace(network.traffic(case), ecn=True)) for f in flows)
    nodes = [network.switch(node) for node in range(1, case.nodes + 1)]
    return replace(
        base, flows=flows, kinds=dict.fromkeys(nodes, "fifo"), fifos=dict.fromkeys(nodes, options(run))
    )


def options(run: Run) -> sim.FifoOptions:
    """The early action of a node before its queue is full."""
    if run.control != "ecn":
        return sim.FifoOptions()
    return sim.FifoOptions(ecn=max(run.case.buffer // ECN_PART, 1) if run.ecn is None else run.ecn)
