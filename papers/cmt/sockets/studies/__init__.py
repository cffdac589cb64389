"""What the paper's silences decide."""

from papers.cmt.sockets.studies import queue, range
from papers.cmt.sockets.studies.study import Study

STUDIES: dict[str, Study] = {module.STUDY.name: module.STUDY for module in (range, queue)}
