"""`groupflow ctl place`: the best switches for a session's agents."""

import argparse
from typing import Any

from groupflow.cli import values
from groupflow.cli.command import OK, REFUSED, USAGE, CommandError, Subparsers, failing_with
from groupflow.cli.rest_client import call, leaf, print_json
from groupflow.cli.tables import print_pairs, print_table

EXAMPLE = "place --topology fig5 --sender ma1 --members mb1,mc1,md1 --agents 2"


def add(groups: Subparsers) -> None:
    parser = leaf(groups, "place", "choose the switches where a session's agents cost least", EXAMPLE, _run)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--topology", metavar="FILE", help="the network; no controller is needed")
    where.add_argument(
        "--session", type=int, metavar="ID", help="a session of a running controller, with its members"
    )
    add = parser.add_argument
    add("--sender", action="append", metavar="HOST", help="a sender to all members; may be repeated")
    add("--members", type=_names, metavar="HOST,HOST,..", help="the receivers")
    add("--agents", type=int, required=True, metavar="K", help="highest number of agents")
    add(
        "--objective", choices=("bytes", "time"), default="bytes",
        help="fewest bytes on links, or shortest completion time (default: %(default)s)",
    )  # fmt: skip
    add("--candidates", type=_names, metavar="SWITCH,..", help="switches to choose from (default: all)")
    what = "size of the transfer (default: %(default)s)"
    add("--size", type=values.size, default="5000000 bytes", metavar="SIZE", help=what)


def _run(args: argparse.Namespace) -> int:
    found = _ask(args) if args.session is not None else _compute(args)
    return print_json(found) if args.json else _print(found)


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _ask(args: argparse.Namespace) -> dict[str, Any]:
    if args.sender or args.members:
        raise CommandError("--sender and --members belong to --topology; leave them out", USAGE)
    params = {"agents": args.agents, "objective": args.objective, "size_bytes": args.size}
    if args.candidates:
        params["candidates"] = args.candidates
    return call(args, "GET", f"/sessions/{args.session}/placement", params=params)


def _compute(args: argparse.Namespace) -> dict[str, Any]:
    from dataclasses import asdict

    from groupflow.files.topology import load
    from groupflow.model.topology import TopologyError
    from groupflow.placement import PlacementError, choose

    if not args.sender or not args.members:
        raise CommandError("--topology needs --sender and --members; give both", USAGE)
    chosen = {"objective": args.objective, "candidates": args.candidates, "size_bytes": args.size}
    with failing_with(TopologyError, PlacementError, code=REFUSED):
        return asdict(choose(load(args.topology), args.sender, args.members, args.agents, **chosen))


def _print(found: dict[str, Any]) -> int:
    print_pairs(
        {
            "agents": list(found["agents"]),
            "link bytes": found["link_bytes"],
            "completion time": f"{found['seconds']:.6g} s",
        }
    )
    print()
    print_table(found["connections"], ("sender", "start", "end"))
    return OK
