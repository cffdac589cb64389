"""The flowcharts of hub and rim, drawn by Graphviz from the machines' own tables."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from groupflow._native import bone_steps
from groupflow.study import StudyError
from groupflow.study.drawing import COLOURS

HUB: Mapping[str, str] = {
    "Idle": "wait for a file",
    "Joining": "multicast IPM_SEND,\ngather JOIN_MESSAGEs",
    "Describing": "send control parameters",
    "Announcing": "announce packet size",
    "Sending": "send the round's packets;\nthe file's last is numbered 0",
    "Gathering": "gather reception results",
    "Sizing": "go back; next packet size",
    "Asking": "ask those that are silent",
}
RIM: Mapping[str, str] = {
    "Waiting": "wait for IPM_SEND",
    "Joining": "wait for its turn,\nthen JOIN_MESSAGE",
    "Joined": "wait for control parameters",
    "Receiving": "receive a round",
    "Reporting": "report the reception result",
    "Complete": "the whole file is there",
}
Steps = Sequence[tuple[str, str, str]]

_DARK = 4
"""colours that a thin arrow may have on white"""
_STYLE = f"""
    graph [dpi=110, nodesep=0.2, ranksep=0.5, splines=spline, fontname="DejaVu Sans", labelloc=t]
    node [shape=box, style="rounded,filled", fillcolor="#eeeeee", color="{COLOURS[0]}"]
    node [fontname="DejaVu Sans", fontsize=20]
    edge [fontname="DejaVu Sans", fontsize=19, arrowsize=0.9, penwidth=1.4]
"""


def draw(hub: Path, rim: Path) -> None:
    """Draws both charts, each into its file. Raises StudyError where Graphviz is not installed."""
    steps = bone_steps()
    _render(hub, chart("Hub", HUB, steps[0]))
    _render(rim, chart("Rim", RIM, steps[1]))


def chart(title: str, states: Mapping[str, str], steps: Steps) -> str:
    """A chart in Graphviz' language. A step to the next multicast, or to the beginning, is grey."""
    lines = [f"label={json.dumps(title)}"]
    lines += [f"{name} [label={json.dumps(says)}]" for name, says in states.items()]
    merged: dict[tuple[str, str], list[str]] = {}
    for start, when, to in steps:
        merged.setdefault((start, to), []).append(when)
    for number, ((start, to), whens) in enumerate(merged.items()):
        aside = all("next" in when or when.startswith("END") for when in whens)
        colour = "gray55" if aside else COLOURS[number % _DARK]
        look = {"label": "\n".join(f" {when} " for when in whens), "color": colour}
        fields = ", ".join(f"{key}={json.dumps(value)}" for key, value in look.items())
        lines.append(f"{start} -> {to} [{fields}]")
    return "digraph {" + _STYLE + "".join(f"    {line}\n" for line in lines) + "}\n"


def _render(path: Path, text: str) -> None:
    try:
        subprocess.run(["dot", "-Tpng", "-o", path], input=text, text=True, check=True)
    except FileNotFoundError:
        raise StudyError(
            "Graphviz' dot, which draws the flowcharts, is missing; run 'sudo make setup'"
        ) from None
    except subprocess.CalledProcessError as error:
        raise StudyError(f"{path}: dot cannot draw it (exit code {error.returncode})") from None
