"""The paper for the command: figures 1 and 2, Tables 1 and 2, the grid of both, the tree, and studies."""

from groupflow.study.paper import Paper
from papers.cmt.children.parts import STUDIES as OF_CHILDREN
from papers.cmt.figure_1 import FIGURE_1
from papers.cmt.slow.parts import STUDIES as OF_SLOW_HOSTS
from papers.cmt.sockets.parts import TABLES
from papers.cmt.sockets.studies import STUDIES as OF_SOCKETS
from papers.cmt.tree.parts import STUDIES as OF_TREES

PAPER = Paper(
    about="socket buffers and parallel connections of the clustered multicast tree (Cui et al.)",
    default=lambda quick: [*TABLES, FIGURE_1, OF_TREES["tree"]],
    studies={**OF_SOCKETS, **OF_TREES, **OF_SLOW_HOSTS, **OF_CHILDREN, FIGURE_1.name: FIGURE_1},
)
