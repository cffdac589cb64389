"""Studies of parameters that the paper leaves open, and of questions beyond it: a study a file, but for
those of every client's target, which are in one."""

from papers.sakajiri.studies import buffers, narrow, range, start, targets, thresholds

STUDIES = [thresholds.STUDY, buffers.STUDY, start.STUDY, range.STUDY, narrow.STUDY, *targets.STUDIES]
