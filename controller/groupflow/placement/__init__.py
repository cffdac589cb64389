"""Placement of split agents: the switches where a session's streams are split, cached and duplicated.

`choose` answers for a topology, senders, members and a number of agents. Pure functions: nothing is
installed.

    costs         link bytes and completion time, defined
    problem       the question, checked; overlays
    routes        shortest paths, by number
    search_bytes  few link bytes
    choose        puts these together
"""

from groupflow.placement.choose import NamedConnection, Placement, choose, curve
from groupflow.placement.problem import DEFAULT_SIZE_BYTES, Problem

__all__ = ["DEFAULT_SIZE_BYTES", "NamedConnection", "Placement", "Problem", "choose", "curve"]
