"""The figures of runs as a table: a CSV file with a row a run."""

from groupflow.study.files import Row
from papers.takano.outcome import Outcome


def row(outcome: Outcome) -> Row:
    """A row for one run. Means and spreads are of the settled part; names without a unit are packets."""
    run, case = outcome.run, outcome.case
    throughput = outcome.mean_throughput_bps
    return {
        "label": run.label,
        "run": run.number,
        "control": run.control,
        "tcp": case.tcp,
        "nodes": case.nodes,
        "bandwidth_bps": case.bandwidth_bps,
        "d": case.diffusion,
        "alpha": case.alpha,
        "simulated_s": case.seconds,
        "background_start_s": round(case.background_start_s, 9),
        "mean_efficiency": round(outcome.mean_efficiency, 6),
        "efficiency_spread": round(outcome.efficiency_spread, 6),
        "fairness": round(outcome.fairness, 6),
        "link_use": round(outcome.link_use, 6),
        "drops": outcome.dropped,
        "early_drops": outcome.early_drops,
        "fullest_queue": int(outcome.fullest_queue),
        "fullest_node": outcome.fullest_node,
        "swing": round(outcome.swing, 3),
        "retransmissions": sum(outcome.retransmissions.values()),
        "ecn_marked": outcome.marks,
        "pauses": outcome.pauses,
        "throughput_bps": " ".join(f"{flow}={bps:.0f}" for flow, bps in throughput.items()),
    }
