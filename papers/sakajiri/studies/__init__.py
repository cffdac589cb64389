"""What the paper's silences decide, and what it does not ask: a study a file."""

from papers.sakajiri.studies import autotuning, churn, jump, loss, narrow, range, scarce

STUDIES = {module.NAME: module.STUDY for module in (range, autotuning, narrow, scarce, jump, churn, loss)}
