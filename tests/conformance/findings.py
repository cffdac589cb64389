"""The outcomes of programs on both switches, and the page that tells them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

SAME, UNSTEADY_, CRASHED = "the same packets", "time or chance in the packets", "BMv2 ends"
DIFFER, COUNTERS, ENTRIES = "packets differ", "counters differ", "entries differ"
ENDED, PAST = "gfswitch ends", "the same packets after a restart only"
REFUSED, REFUSED_THERE, REFUSED_BOTH = "refused by gfswitch", "refused by BMv2", "refused by both"

SMALL = 30
"""A collection with fewer programs has no row of its own on the page."""


@dataclass
class Findings:
    """The outcomes of the programs."""

    # By name: what, and the details.
    outcomes: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])

    def of(self, *kinds: str) -> dict[str, str]:
        """The programs of which one of these is true, with the details."""
        return {name: text for name, (kind, text) in sorted(self.outcomes.items()) if kind in kinds}

    def loaded(self) -> list[int]:
        """How many programs gfswitch loads, and how many BMv2."""
        total = len(self.outcomes)
        refused = [len(self.of(REFUSED, REFUSED_BOTH)), len(self.of(REFUSED_THERE, REFUSED_BOTH))]
        return [total - number for number in refused]

    def collections(self) -> dict[str, Findings]:
        """The outcomes of each collection; the small ones are together in the last."""
        sizes = Counter(name.partition("/")[0] for name in self.outcomes)
        large = sorted(name for name, programs in sizes.items() if programs >= SMALL)
        found = {name: Findings() for name in (*large, f"{len(sizes) - len(large)} others")}
        for name, outcome in self.outcomes.items():
            found.get(name.partition("/")[0], [*found.values()][-1]).outcomes[name] = outcome
        return {name: part for name, part in found.items() if part.outcomes}

    def __str__(self) -> str:
        ours, theirs = self.loaded()
        lines = [f"programs {len(self.outcomes)}, loaded: gfswitch {ours}, BMv2 {theirs}"]
        counts = Counter(kind for kind, _ in self.outcomes.values())
        for kind, number in counts.most_common():
            lines.append(f"{kind}: {number}")
            if kind not in (SAME, UNSTEADY_):
                lines += [f"  {name}: {text}" for name, text in self.of(kind).items()]
        return "\n".join(lines)

    def page(self, command: str) -> str:
        """The results as a page."""
        ours, theirs = self.loaded()
        counts = Counter(kind for kind, _ in self.outcomes.values())
        total = len(self.outcomes)
        lines = [f"Of {total:,} programs that p4c compiles, gfswitch loads {ours:,}, BMv2 {theirs:,}.", ""]
        lines += [
            "| collection | programs | gfswitch loads | BMv2 loads | the same packets |",
            "|---|---|---|---|---|",
        ]
        for name, part in self.collections().items():
            row = (name, len(part.outcomes), *part.loaded(), len(part.of(SAME)))
            lines.append(f"| {' | '.join(map(str, row))} |")
        lines += ["", "| outcome | programs |", "|---|---|"]
        lines += [f"| {kind} | {number:,} |" for kind, number in counts.most_common()]
        for kind in (DIFFER, COUNTERS, ENTRIES, ENDED, PAST, REFUSED, REFUSED_BOTH):
            if found := self.of(kind):
                lines += ["", f"## {kind[0].upper()}{kind[1:]}", ""]
                lines += [brief(f"- `{name}`{': ' * bool(text)}{text}") for name, text in found.items()]
        return PAGE.format(command=command, small=SMALL) + "\n".join(lines) + "\n"


OWN_TESTS = "\n## p4c's own tests\n"
"""the heading of the page's last section, which tests.conformance.stf writes"""


def halves(page: Path) -> tuple[str, str]:
    """A page before its last section, and that section."""
    before, heading, behind = (page.read_text() if page.exists() else "").partition(OWN_TESTS)
    return before, heading + behind


PAGE = """# Programs from outside

*Results: public programs for v1model on gfswitch and on BMv2: the same program, entries and packets.*

Each program gets 16 packets of all kinds without entries, and the same with random entries. Fields that
depend on time or chance are not compared, nor are packets after BMv2 has ended. A table with initial entries
gets no more, as BMv2 refuses them. An entry that one switch refuses because of a rule or a translated type,
which BMv2 does not know, is taken from the other. BMv2 keeps fields of invalid headers from earlier packets;
such programs send the same packets after a restart only.

Made by `{command}`. A collection is a public repository,
or a folder of p4c's samples; the others have fewer than {small} programs each.

"""


def brief(text: str) -> str:
    """The beginning of a text, a line."""
    return text if len(text) <= 110 else text[:107] + "..."
