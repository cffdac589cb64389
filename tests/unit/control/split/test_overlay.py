"""Agents' parts in a session, and the switches' ways to an address, as pure functions."""

from ipaddress import IPv4Address, IPv4Network

import pytest

from groupflow.control.sessions.admission import checked, lowest_free
from groupflow.control.sessions.model import Member, RefusalError, Session, SessionRecord, Tcp
from groupflow.control.split import overlay
from groupflow.files.topology import parse
from groupflow.model.topology import Topology
from groupflow.p4rt.entries import Action, Key, action

SWITCHES = "abcdef"


def network(*links: tuple[str, str], agents: str) -> Topology:
    """Switches with a host each (ha at 10.0.1.1, ...), some with an agent (xa at 10.0.101.1, ...)."""
    used = sorted({end for link in links for end in link})
    lines = ["name: t", "switches:"]
    for number, name in enumerate(used, 1):
        agent = f", agent: x{name}" if name in agents else ""
        lines.append(f"  {name}: {{device_id: {number}, grpc: {9560 + number}{agent}}}")
    lines.append("hosts:")
    lines += [f"  h{name}: {{ip: 10.0.{number}.1/24}}" for number, name in enumerate(used, 1)]
    lines += [f"  x{n}: {{ip: 10.0.{100 + number}.1/24}}" for number, n in enumerate(used, 1) if n in agents]
    lines.append("links:")
    lines += [f"  - {{ends: [{one}, {other}]}}" for one, other in links]
    lines += [f"  - {{ends: [h{name}, {name}]}}" for name in used]
    lines += [f"  - {{ends: [x{name}, {name}]}}" for name in used if name in agents]
    return parse("\n".join(lines))


LINE = network(("a", "b"), ("b", "c"), ("c", "d"), agents="abd")
"""a - b - c - d, where c has no agent"""
SETTINGS = Tcp(address="10.200.0.1", ports=(5000,))


def session(*hosts: str, settings: Tcp = SETTINGS, starts: tuple[str, ...] = ()) -> Session:
    """Listeners 1, 2, ... on the hosts of switches; `starts`: those that want the stream's start."""
    record = SessionRecord(id=7, mode="n2n", salt="00", created=0, tcp=settings)
    members = {
        number: Member(
            7, number, f"m{number}", "listener", f"h{host}", 5000, 0,
            tcp_port=9000 + number, start="start" if host in starts else "now",
        )
        for number, host in enumerate(hosts, 1)
    }  # fmt: skip
    return Session(record, members)


def test_a_switch_without_an_agent_takes_the_nearest() -> None:
    assert [overlay.nearest(LINE, switch, "abd") for switch in "abcd"] == ["a", "b", "b", "d"]
    assert overlay.nearest(LINE, "a", "d") == "d"
    assert overlay.nearest(LINE, "a", "") is None


def test_the_agents_tree_joins_those_that_are_next_to_each_other() -> None:
    assert overlay.neighbours(LINE, "abd") == {"a": {"b"}, "b": {"a", "d"}, "d": {"b"}}
    assert overlay.neighbours(LINE, "ad") == {"a": {"d"}, "d": {"a"}}
    ring = network(("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), agents="abcd")
    tree = overlay.neighbours(ring, "abcd")
    assert sum(map(len, tree.values())) == 2 * 3, "a tree of four has three edges"
    star = network(("a", "f"), ("b", "f"), ("c", "f"), agents="abc")
    assert sum(map(len, overlay.neighbours(star, "abc").values())) == 2 * 2


def test_agents_in_separate_pieces_are_a_forest() -> None:
    pieces = network(("a", "b"), ("c", "d"), agents="abcd")
    assert overlay.neighbours(pieces, "abcd") == {"a": {"b"}, "b": {"a"}, "c": {"d"}, "d": {"c"}}


def test_streams_go_only_where_members_are_whoever_sends() -> None:
    parts = overlay.parts(LINE, session("a", "c", "d"), "abd")
    assert {agent: part.members for agent, part in parts.items()} == {"a": (1,), "b": (2,), "d": (3,)}
    assert parts["b"].forward == (("a", (1,)), ("d", (3,)))
    assert parts["a"].forward == (("b", (2, 3)),) and parts["d"].forward == (("b", (1, 2)),)
    parts = overlay.parts(LINE, session("a"), "abd")
    assert parts["a"].forward == () and parts["d"].forward == (("b", (1,)),)
    assert {agent: part.accept for agent, part in parts.items()} == {
        "a": ("b",),
        "b": ("a", "d"),
        "d": ("b",),
    }


@pytest.mark.parametrize("sender", "abcd")
@pytest.mark.parametrize("hosts", ["", "a", "ad", "bcd", "aabbccdd"])
def test_every_member_gets_a_stream_once(sender: str, hosts: str) -> None:
    """Passes a stream on as agents do: to members, and to neighbours with members behind, but not back."""
    asked = session(*hosts)
    parts = overlay.parts(LINE, asked, "abd")
    entry = overlay.nearest(LINE, sender, "abd")
    assert entry is not None
    got: list[int] = []
    todo: list[tuple[str, str | None]] = [(entry, None)]
    while todo:
        agent, before = todo.pop()
        assert before is None or before in parts[agent].accept
        got += parts[agent].members
        todo += [(further, agent) for further, _ in parts[agent].forward if further != before]
    assert sorted(got) == list(asked.listeners)


def test_what_an_agent_is_told() -> None:
    settings = Tcp(
        address="10.200.0.9", ports=(5000, 5001), cache=1 << 20, history=7, congestion="cubic",
        send_buffer=8192, replies="leader",
    )  # fmt: skip
    asked = session("a", "d", settings=settings, starts=("d",))
    part = overlay.parts(LINE, asked, "abd")["a"]
    there, here = (
        {"links": dict.fromkeys(names, 100_000_000)} for names in (["xa>a", "a>b", "b>xb"], ["xa>a", "a>ha"])
    )
    assert overlay.form(LINE, asked, settings, part) == {
        "id": 7,
        "address": "10.200.0.9",
        "ports": [5000, 5001],
        "mode": "n2n",
        "policy": "strict",
        "cache_bytes": 1 << 20,
        "history_bytes": 7,
        "congestion": "cubic",
        "send_buffer": 8192,
        "receive_buffer": None,
        "replies": "leader",
        "leader": 1,
        "neighbours": ["10.0.102.1"],
        "branches": [
            {"kind": "agent", "name": "xb", "address": "10.0.102.1:26480", "from": "start"} | there,
            {"kind": "member", "name": "m1", "member": 1, "address": "10.0.1.1:9001", "from": "now"} | here,
        ],
    }


def test_a_session_without_members_has_no_leader() -> None:
    settings = Tcp(address="10.200.0.9", ports=(5000,), replies="leader")
    asked = session(settings=settings)
    form = overlay.form(LINE, asked, settings, overlay.parts(LINE, asked, "a")["a"])
    assert (form["replies"], form["leader"], form["branches"]) == ("drop", None, [])


def test_a_long_name_is_cut_within_what_agents_take() -> None:
    asked = session("a")
    member = Member(7, 1, "ä" * 100, "listener", "ha", 5000, 0, tcp_port=9001)
    form = overlay.form(LINE, asked.with_member(member), SETTINGS, overlay.parts(LINE, asked, "a")["a"])
    branches = form["branches"]
    assert isinstance(branches, list) and branches[0]["name"] == "ä" * 32


def test_every_switch_leads_to_the_nearest_agent() -> None:
    key = Key("ipv4_route", (int(IPv4Address("10.200.0.1")), 32))

    def hop(switch: str, agents: str) -> str:
        ((found, chosen),) = overlay.route(LINE, switch, "10.200.0.1", agents).items()
        assert found == key and isinstance(chosen, Action) and chosen.name == "route"
        port, source = chosen.params["port"], chosen.params["src"]
        assert source == int(LINE.switches[switch].mac.replace(":", ""), 16)
        return LINE.switches[switch].ports[port].node

    assert [hop(switch, "abd") for switch in "abcd"] == ["xa", "xb", "b", "xd"]
    assert [hop(switch, "d") for switch in "abcd"] == ["b", "c", "d", "xd"]
    assert overlay.route(LINE, "a", "10.200.0.1", "") == {}


def test_the_last_hop_is_addressed_to_the_agents_host() -> None:
    (chosen,) = overlay.route(LINE, "a", "10.200.0.1", "a").values()
    assert isinstance(chosen, Action)
    assert chosen.params["dst"] == int(LINE.hosts["xa"].mac.replace(":", ""), 16)


def test_the_prefix_is_refused() -> None:
    assert overlay.refusal(IPv4Network("10.200.0.0/16")) == {
        Key("ipv4_route", (0x0AC80000, 16)): action("refuse")
    }


def test_addresses_are_given_from_the_lowest() -> None:
    prefix = IPv4Network("10.9.8.4/30")
    assert lowest_free(prefix, set[str]()) == "10.9.8.5"
    assert lowest_free(prefix, {"10.9.8.5"}) == "10.9.8.6"
    with pytest.raises(RefusalError, match=r"every address of 10\.9\.8\.4/30 is taken"):
        lowest_free(prefix, {"10.9.8.5", "10.9.8.6"})


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"ports": (1, 1)}, "a port of 1, 1 is there twice"),
        ({"history": (64 << 20) + 1}, "at most the cache's"),
        ({"agents": ("z",)}, "no switch 'z' with an agent"),
    ],
)
def test_settings_that_will_not_do_are_named(changes: dict[str, object], text: str) -> None:
    form: dict[str, object] = {"ports": (5000,), **changes}
    with pytest.raises(RefusalError, match=text):
        checked(Tcp(**form), {"a", "b"})  # pyright: ignore[reportArgumentType]
