"""What the paper's silences decide, and what it does not ask: a study a file."""

from experiments.sakajiri.studies import churn, jump, loss, range, scarce
from experiments.sakajiri.studies.study import Study

STUDIES: dict[str, Study] = {module.STUDY.name: module.STUDY for module in (range, scarce, jump, churn, loss)}
