"""`groupflow schema`: the form of a YAML file, for editors."""

import json
from pkgutil import resolve_name
from typing import Annotated, Literal

from groupflow.model.fields import Help

_FORMS = {
    "topology": "groupflow.files.topology_forms:TopologyForm",
    "scenario": "groupflow.sim.forms:ScenarioForm",
    "sweep": "groupflow.study.sweep.form:SweepForm",
    "clients": "groupflow.control.gather.clients:ClientListForm",
}


def show(
    file: Annotated[Literal["topology", "scenario", "sweep", "clients"], Help("kind of the file")],
) -> None:
    """Print the JSON schema of a YAML file, with which editors check and complete it."""
    print(json.dumps(resolve_name(_FORMS[file]).model_json_schema(), indent=2))
