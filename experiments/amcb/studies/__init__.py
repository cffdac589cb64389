"""Beyond the paper, by name."""

from experiments.amcb.studies import forgetting, modes, rims, size

STUDIES = {study.STUDY.name: study.STUDY for study in (size, modes, rims, forgetting)}
