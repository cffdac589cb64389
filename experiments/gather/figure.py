"""Throughput against time on real packets: a row for each congestion control, a column for each policy."""

from pathlib import Path

from groupflow.study.drawing import line as look
from groupflow.study.drawing import save, subplots
from papers.sakajiri.figures import SHOWN, line, targets
from papers.sakajiri.outcome import Outcomes
from papers.sakajiri.paper import NAMES


def model(name: str, path: Path, found: Outcomes) -> None:
    tcps = list(dict.fromkeys(case.tcp for case in found))
    methods = list(dict.fromkeys(case.method for case in found))
    drawing, axes = subplots(
        len(tcps), len(methods), figsize=(3.6 * len(methods), 2.9 * len(tcps)), sharex=True, sharey=True,
        squeeze=False,
    )  # fmt: skip
    for case, outcomes in found.items():
        axis = axes[tcps.index(case.tcp)][methods.index(case.method)]
        for number, client in enumerate(SHOWN):
            line(axis, outcomes[0], (client,), f"Terminal {client[1]}", **look(number))
        targets(axis, outcomes[0])
        axis.set_title(f"{NAMES[case.method]}, {case.tcp}", fontsize="medium")
        axis.label_outer()
    axes[0][0].legend(fontsize="x-small", ncols=2)
    drawing.suptitle(f"{name.replace('-', ' ').capitalize()}, kernel TCP under Mininet", fontsize="medium")
    save(drawing, path)
