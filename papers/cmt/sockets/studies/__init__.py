"""Studies of the parameters that the paper leaves open."""

from papers.cmt.sockets.studies import queue, range

STUDIES = {module.NAME: module.STUDY for module in (range, queue)} | {"policer": queue.LOSSES}
