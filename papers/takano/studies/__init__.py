"""Studies beyond the paper, on its line: a study a file."""

from papers.takano.studies import delays, flows, hosts, rivals, stability, tcps, vegas

STUDIES = {module.NAME: module.STUDY for module in (stability, delays, flows, tcps, rivals, hosts, vegas)}
NAMED = (hosts.NAME, vegas.NAME)
"""run only where they are named: they question the paper's conditions"""
