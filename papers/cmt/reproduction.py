"""The paper for the command: figures 1 and 2, Tables 1 and 2, the grid of both, the tree, and studies."""

from groupflow.study.experiment import Experiment
from papers.cmt import children
from papers.cmt.figure_1 import FIGURE_1
from papers.cmt.slow import study as slow
from papers.cmt.sockets.parts import TABLES
from papers.cmt.sockets.studies import queue
from papers.cmt.tree.study import TREE

EXPERIMENT = Experiment(
    "socket buffers and parallel connections of clustered multicast trees (Cui et al.): 6 minutes on a core",
    [*(*TABLES, FIGURE_1, TREE, queue.STUDY), *(*slow.STUDIES, children.STUDY)],
    default=lambda quick: [*TABLES, FIGURE_1, TREE],
)
