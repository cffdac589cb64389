"""Keeps p4c's output honest: a manifest of the hashes of the P4 sources it was made from.

`write` renews p4src/build/manifest.json; `check` exits 1 and names each file that differs.
"""

import hashlib
import json
import sys
from pathlib import Path

P4SRC = Path(__file__).resolve().parent.parent / "p4src"
BUILD = P4SRC / "build"
MANIFEST = BUILD / "manifest.json"
ARTEFACTS = ("groupflow.json", "groupflow.p4info.txtpb")


def _hashes(paths: list[Path]) -> dict[str, str]:
    return {str(p.relative_to(P4SRC)): hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(paths)}


def current() -> dict[str, dict[str, str]]:
    """Hashes of the sources and of the artefacts as they are now."""
    sources = [p for p in P4SRC.rglob("*.p4") if BUILD not in p.parents]
    return {"sources": _hashes(sources), "artefacts": _hashes([BUILD / name for name in ARTEFACTS])}


def differences() -> list[str]:
    """Names of files that differ from the manifest, or are new or gone."""
    recorded = json.loads(MANIFEST.read_text())
    now = current()
    changed: list[str] = []
    for kind in ("sources", "artefacts"):
        names = set(recorded[kind]) | set(now[kind])
        changed += sorted(n for n in names if recorded[kind].get(n) != now[kind].get(n))
    return changed


def main(arguments: list[str]) -> int:
    if arguments == ["write"]:
        MANIFEST.write_text(json.dumps(current(), indent=2) + "\n")
        return 0
    if arguments == ["check"]:
        changed = differences()
        for name in changed:
            print(f"p4src/{name} changed since p4c ran: run `make p4`", file=sys.stderr)
        return 1 if changed else 0
    print("usage: p4_artefacts.py write|check", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
