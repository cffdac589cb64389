"""Files of the package: P4 programs, topologies, the page, a dissector; and the folder of what runs."""

from pathlib import Path

_FOLDER = Path(__file__).parent
RUN_FOLDER = Path("/run/groupflow")
"""the control sockets of switches and split agents on this machine, names of networks, and root's tokens"""
PAGE = _FOLDER / "page"
TOPOLOGIES = _FOLDER / "topologies"
DISSECTOR = _FOLDER / "wireshark" / "groupflow.lua"
P4_JSON = _FOLDER / "p4" / "groupflow.json"
P4INFO = _FOLDER / "p4" / "groupflow.p4info.txtpb"
"""groupflow's own P4 program, as p4c wrote it"""
