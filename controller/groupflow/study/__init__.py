"""The frame of a paper's reproduction: plan of runs, runs on all cores, claims, tables, figures, results.

A paper is a folder with a module `reproduction`, whose `PAPER` is a `groupflow.study.paper.Paper`. It has
what other papers do not have: its networks, scenarios, claims, studies and figures.
"""
