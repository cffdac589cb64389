"""The study of several children."""

from groupflow.study.paper import Study
from papers.cmt.children import claims, figures, plan
from papers.cmt.slow.parts import SIMULATION

STUDIES = {
    "children": Study("children", "several children, at once and one after the other", SIMULATION,
                      plan.runs, claims.judged, figures.drawn),
}  # fmt: skip
