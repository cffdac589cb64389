"""The frame of papers and experiments: what they declare, their runs, claims, tables, figures and results.

A paper is a folder in `papers` with a module `reproduction`, an experiment a folder in `experiments` with a
module `run`. Either module has an `EXPERIMENT`, a `groupflow.study.experiment.Experiment`.
"""
