"""Studies beyond the paper, on its line."""

from papers.takano.studies import conditions, rivals, stability

STUDIES = [stability.STUDY, *conditions.STUDIES, rivals.STUDY]
"""Those of `hosts` run only where they are named: they question the paper's conditions."""
