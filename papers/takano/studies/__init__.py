"""Studies beyond the paper, on its line: a study a file, but for `hosts`, which has five."""

from papers.takano.studies import delays, flows, rivals, stability, tcps

STUDIES = [stability.STUDY, delays.STUDY, flows.STUDY, tcps.STUDY, rivals.STUDY]
"""Those of `hosts` run only where they are named: they question the paper's conditions."""
