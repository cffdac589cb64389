"""Options that the command line gives to a study."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class ExperimentOptions:
    """Options of every reproduction and experiment."""

    name: str
    out: Path
    scenarios: tuple[str, ...] = ()
    """names of the paper's scenarios"""
    studies: tuple[str, ...] = ()
    """names of studies beyond the paper; with neither scenarios nor studies, the paper chooses"""
    quick: bool = False
    """short runs, which show that everything works, and are no verdict"""
    jobs: int = 1
    dask: str | None = None
    """address of a dask scheduler, whose workers run the simulations"""
    seed: int = 1
    switch: Literal["gfswitch", "bmv2"] = "gfswitch"
    json: bool = False
    """print the result for machines instead of a table"""
