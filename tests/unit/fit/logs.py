"""Small logs in the form of a compiler's for Tofino, written by hand: four tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def _used(table: str, count: int, kind: str = "match_entry_ram") -> list[Json]:
    return [{"row": i, "column": 2, "usages": [{"used_by": table, "used_for": kind}]} for i in range(count)]


def stage(number: int, tables: list[str], srams: list[Json], tcams: list[Json], meters: list[Json]) -> Json:
    bits: list[Json] = [
        {"hash_bit": bit, "hash_function": 0, "used_by_table": table, "used_for": "exact_match", "usages": []}
        for table in tables
        for bit in range(10)
    ]
    return {
        "stage_number": number,
        "rams": {"nRows": 8, "nColumns": 10, "srams": srams},
        "map_rams": {"nRows": 8, "nUnits": 6, "maprams": []},
        "tcams": {"nRows": 12, "nColumns": 2, "tcams": tcams},
        "meter_alus": {"nAlus": 4, "meters": meters},
        "statistic_alus": {"nAlus": 4, "stats": []},
        "hash_bits": {"nBits": 52, "nFunctions": 8, "bits": bits},
        "hash_distribution_units": {"nHashIds": 2, "nUnitIds": 3, "units": []},
        "gateways": {"nRows": 8, "nUnits": 2, "gateways": []},
        "action_bus_bytes": {"size": 128, "bytes": [{"byte_number": 0, "used_by_tables": tables}]},
        "vliw": {"size": 32, "instructions": []},
        "logical_tables": {
            "size": 16,
            "ids": [{"id": i, "table_name": name} for i, name in enumerate(tables)],
        },
    }


def resources() -> Json:
    stages = [
        stage(0, ["routes", "acl"], _used("routes", 80), _used("acl", 6, "ternary_match"), []),
        stage(1, ["routes"], _used("routes", 20), [], []),
        # A register is named as itself, and not as its table.
        stage(
            2,
            ["rewrite", "meters"],
            [*_used("rewrite", 1), *_used("rates", 1)],
            [],
            _used("rates", 1, "stateful_ram"),
        ),
    ]
    parsers = [
        {"parser_id": 0, "gress": gress, "nStates": 256, "states": [
            {"next_state_name": name, "next_state_id": number, "tcam_row": row, "previous_state_id": 0}
            for row, (name, number) in enumerate(rows)
        ]}
        for gress, rows in (("ingress", [("start", 0), ("ipv4", 1), ("ipv4", 1)]), ("egress", [("start", 0)]))
    ]  # fmt: skip
    return {
        "program_name": "router.p4",
        "run_id": "0",
        "build_date": "Sun Nov 29 2026",
        "compiler_version": "9.13.4",
        "schema_version": "2.4.2",
        "resources": {
            "parser": {"nParsers": 18, "parsers": parsers},
            "mau": {"nStages": 12, "mau_stages": stages},
            "phv_containers": {"normal": [{"width": 8, "units": 64, "addresses": []}]},
        },
    }


def phv() -> Json:
    def slice_(low: int, high: int) -> Json:
        return {"slice_info": {"lsb": low, "msb": high}, "phv_number": 64, "reads": [], "writes": []}

    held = [[slice_(0, 3), slice_(2, 5)], [slice_(0, 7)]]
    return {
        "schema_version": "3.0.0",
        "containers": [
            {
                "phv_number": 64 + i,
                "bit_width": 8,
                "container_type": "normal",
                "gress": "ingress",
                "slices": each,
            }
            for i, each in enumerate(held)
        ],
    }


def node(number: int, name: str, at: int, *attached: str) -> Json:
    placement = {"logical_table_id": number, "stage_number": at}
    tables = [{"name": name, "table_type": "match"}]
    tables += [{"name": one, "table_type": "stateful"} for one in attached]
    about = {"placement": placement, "tables": tables, "min_stage": 0}
    return {"id": str(number), "metadata": about}


def edge(before: int, after: int, kind: str, sub_type: str, *fields: str, tag: str = "dependency") -> Json:
    about: Json = {"type": kind, "sub_type": sub_type, "tags": [tag]}
    about |= {"dep_fields": [{"gress": "ingress", "field_name": name} for name in fields]} if fields else {}
    return {"source": str(before), "target": str(after), "metadata": about}


def graph() -> Json:
    ingress = {
        "metadata": {"gress": "ingress", "description": "", "placement_complete": True},
        "nodes": [node(0, "routes", 0), node(1, "acl", 0), node(2, "rewrite", 2)],
        "edges": [
            edge(0, 2, "match", "ixbar_read", "meta.next_hop"),
            edge(1, 2, "control", "anti", "hdr.ipv4.ttl"),
            edge(0, 1, "control", "table_hit", tag="flow"),
        ],
    }
    egress = {
        "metadata": {"gress": "egress", "description": "", "placement_complete": True},
        "nodes": [node(3, "meters", 2, "rates")],
        "edges": [],
    }
    return {"schema_version": "1.0.1", "graphs": [ingress, egress]}


def write(folder: Path, **changed: Any) -> Path:
    """The logs in a folder as the compiler names them; `changed` replaces a document, or leaves it out."""
    documents = {
        "resources": ("pipe/logs/resources.json", resources()),
        "phv": ("pipe/logs/phv.json", phv()),
        "graph": ("pipe/graphs/dep.json", graph()),
        "manifest": ("manifest.json", {"target": "tofino", "schema_version": "2.2.0"}),
    }
    for name, (file, document) in documents.items():
        value = changed.get(name, document)
        if value is not None:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(value if isinstance(value, str) else json.dumps(value))
    return folder
