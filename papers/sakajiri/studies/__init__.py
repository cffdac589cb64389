"""Studies of parameters that the paper leaves open, and of questions beyond it: a study a file."""

from papers.sakajiri.studies import autotuning, churn, jump, loss, narrow, range, scarce, start, thresholds

STUDIES = {
    module.NAME: module.STUDY
    for module in (thresholds, start, range, autotuning, narrow, scarce, jump, churn, loss)
}
