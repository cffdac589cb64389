"""`groupflow schema`: the form of a YAML file, for editors."""

import argparse
import json
from pkgutil import resolve_name

from groupflow.cli.command import OK, Subparsers, add_command

_FORMS = {
    "topology": "groupflow.files.topology:TopologyForm",
    "scenario": "groupflow.sim.forms:ScenarioForm",
    "sweep": "groupflow.study.sweep.form:SweepForm",
    "clients": "groupflow.control.gather.clients:ClientListForm",
}


def register(subparsers: Subparsers) -> None:
    summary = "print the JSON schema of a YAML file, with which editors check and complete it"
    example = "groupflow schema topology > topology.schema.json"
    parser = add_command(subparsers, "schema", summary, run, example=example)
    parser.add_argument("file", choices=tuple(_FORMS), help="kind of file")


def run(args: argparse.Namespace) -> int:
    print(json.dumps(resolve_name(_FORMS[args.file]).model_json_schema(), indent=2))
    return OK
