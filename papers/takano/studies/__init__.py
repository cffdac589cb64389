"""Studies beyond the paper, on its line: a study a file."""

from papers.takano.studies import delays, flows, hosts, rivals, stability, tcps

STUDIES = {module.NAME: module.STUDY for module in (stability, delays, flows, tcps, rivals, hosts)}
