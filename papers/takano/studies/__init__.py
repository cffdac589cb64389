"""What the paper does not ask, on its line: a study a file."""

from papers.takano.studies import delays, flows, rivals, stability, tcps
from papers.takano.studies.study import Study

STUDIES: dict[str, Study] = {
    module.STUDY.name: module.STUDY for module in (stability, delays, flows, tcps, rivals)
}
