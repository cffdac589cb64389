"""Files of the package: compiled P4 programs, topologies, the page, and a dissector for Wireshark."""

from pathlib import Path

_FOLDER = Path(__file__).parent
PAGE = _FOLDER / "page"
TOPOLOGIES = _FOLDER / "topologies"
DISSECTOR = _FOLDER / "wireshark" / "groupflow.lua"
P4_JSON = _FOLDER / "p4" / "groupflow.json"
P4INFO = _FOLDER / "p4" / "groupflow.p4info.txtpb"
"""groupflow's own P4 program, as p4c wrote it"""
