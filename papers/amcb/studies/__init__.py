"""Studies beyond the paper, by name."""

from papers.amcb.studies import forgetting, modes, overload, rims, size

STUDIES = {study.NAME: study.STUDY for study in (size, modes, rims, forgetting, overload)}
