"""Makes the pictures in docs/img again: `make figures`, or `make figures ONLY="takano placement"`.

Runs what draws each picture, in full, into out/figures, and copies it; a picture that is there is copied
without a run. The screenshots page.png and report.png are not among them.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from groupflow.study import checkout

IMAGES = checkout.ROOT / "docs/img"
OUT = checkout.ROOT / "out/figures"
EXPERIMENTS = {
    "placement": {"placement": "placement"},
    "diffusion": {"diffusion": "diffusion-mininet"},
    "split": {"split": "split"},
    "gather": {"model-2": "gather-model-2", "study-range": "gather-range"},
}
"""of an experiment, the picture in docs/img for each that it draws; all but the first need root"""


def main(only: list[str]) -> None:
    for paper in checkout.names("papers"):
        if not only or paper in only:
            _made(["reproduce", paper, *(f"--only={id}" for id in sorted(_shown(paper)))], OUT / paper)
            for picture in (OUT / paper).glob("*.png"):
                name = picture.stem.removeprefix("study-").partition("-scenario-")[0]
                _copy(picture, name if name.startswith("bone-") else f"{paper}-{name}")
    for name, pictures in EXPERIMENTS.items():
        if not only or name in only:
            chosen = [f"--only={id.removeprefix('study-')}" for id in pictures] if len(pictures) > 1 else []
            _made(["experiment", name, *chosen], OUT / name)
            for drawn, picture in pictures.items():
                _copy(OUT / name / f"{drawn}.png", picture)


def _shown(paper: str) -> set[str]:
    """Ids of the paper's studies that draw a picture of docs/img."""
    names = [picture.stem.removeprefix(f"{paper}-") for picture in IMAGES.glob(f"{paper}-*.png")]
    return {
        study.ids[0]
        for study in checkout.load("papers", paper).studies
        if any(name == id or name.startswith(f"{id}-1") for name in names for id in study.ids)
    }


def _made(command: list[str], out: Path) -> None:
    """Runs a command once."""
    done = out / ".done"
    if not done.exists():
        program = [sys.executable, "-m", "groupflow.cli.main", *command, "--out", str(out)]
        subprocess.run(program, check=True, cwd=checkout.ROOT)
        done.touch()


def _copy(picture: Path, name: str) -> None:
    target = IMAGES / f"{name}.png"
    if target.exists():
        shutil.copyfile(picture, target)


if __name__ == "__main__":
    main(sys.argv[1:])
