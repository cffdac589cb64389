"""The frame of a paper's reproduction: plan of runs, runs on all cores, claims, tables, figures, results.

A paper is a folder with a module `reproduction`, whose `PAPER` is a `groupflow.study.paper.Paper`. The folder
has the paper's own networks, scenarios, claims, studies and figures.
"""
