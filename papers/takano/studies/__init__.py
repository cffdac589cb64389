"""Studies beyond the paper, on its line: a study a file, but for `hosts`, which has five."""

from papers.takano.studies import delays, flows, hosts, rivals, stability, tcps

STUDIES = {module.NAME: module.STUDY for module in (stability, delays, flows, tcps, rivals)} | hosts.STUDIES
NAMED = tuple(hosts.STUDIES)
"""run only where they are named: they question the paper's conditions"""
