"""What the paper's silences decide."""

from papers.cmt.sockets.studies import queue, range

STUDIES = {module.NAME: module.STUDY for module in (range, queue)}
