"""Placement of split agents: the switches where a session's streams are split, cached and duplicated.

`choose` answers for a topology, senders, members and a number of agents. Pure functions: nothing is
installed.

    costs         link bytes and completion time, defined
    problem       the question, checked; overlays
    routes        shortest paths, by number
    layout        the connections between given agents, senders and members
    rooted        trees of switches
    tree_bytes    exact on trees, link bytes
    tree_time     exact on trees, completion time of one sender
    search_bytes  elsewhere, link bytes
    search_time   elsewhere, completion time
    choose        puts these together
"""

from groupflow.placement.choose import NamedConnection, Placement, choose, curve
from groupflow.placement.problem import DEFAULT_SIZE_BYTES, Objective, PlacementError, Problem

__all__ = [
    "DEFAULT_SIZE_BYTES",
    "NamedConnection",
    "Objective",
    "Placement",
    "PlacementError",
    "Problem",
    "choose",
    "curve",
]
