"""The list of clients: its contents, and refusals in one line."""

from pathlib import Path

import pytest

from groupflow.control.gather.clients import load, parse, token_hash
from groupflow.control.gather.model import Client, Limits
from groupflow.errors import InvalidError
from tests.support.gather import GOOD

ERRORS = [
    ("cam2", "cam1", "clients[1].name: 'cam1' is there twice; rename one"),
    ("target: 1mbit", "target: -1mbit", "clients[0].target: '-1mbit' cannot be read; write a number with"),
    ("target: 1mbit", "target: 1000000", "clients[0].target: 1000000 cannot be read; write a number with"),
    ("target: 1mbit", "target: 0mbit", "clients[0].target: '0mbit' is no rate"),
    ("target: 1mbit", "target: unlimited", "clients[0].target: 'unlimited' cannot be read"),
    ("target: 1mbit, ", "", "clients[0].target: missing; write a rate with its unit, as in '1mbit'"),
    ("target: 1mbit", "target: 11mbit", "clients[0].target: 11mbit is beyond the link's 10mbit; write less"),
    ("minimum: 100kbit", "minimum: 600kbit", "clients[1].minimum: 600kbit is above the target, 500kbit"),
    ("minimum: 100kbit", "minimum: 5", "clients[1].minimum: 5 cannot be read"),
    ("priority: 1", "priority: -1", "clients[0].priority: -1 will not do"),
    ("priority: 1", "priority: high", "clients[0].priority: 'high' will not do"),
    ("token: c0ffee", "token: secret", "clients[0].token: will not do; write 1 to 255 hexadecimal"),
    ("token: c0ffee", "token: 123456", "clients[0].token: will not do; write 1 to 255 hexadecimal"),
    (", token: c0ffee", "", "clients[0].token: missing"),
    ("name: cam1", "name: ../x", "clients[0].name: '../x' will not do; write 1 to 64 letters"),
    ("name: cam1", "name: cam1, colour: red", "clients[0].colour: unknown key; known are name, target"),
    ("link: 10mbit", "link: 10", "link: 10 cannot be read"),
    ("link: 10mbit", "", "link: missing"),
    ("buffer: 100000 bytes", "buffer: 100KB", "buffer: '100KB' is no size; write a number of bytes, or like"),
    (
        "buffer: 100000 bytes",
        "buffer: 2000 bytes",
        "buffer: 2000 bytes are too few for 2 clients; write 2304",
    ),
    ("buffer: 100000 bytes", "", "buffer: missing"),
    ("link: 10mbit", "link: 10mbit\nconnections: 0", "connections: 0 will not do"),
    ("clients:", "clients: none\nothers:", "others: unknown key"),
    ("link: 10mbit", "link: 10mbit\nlink: 5mbit", "line 3: duplicate name 'link'; rename one"),
]


def test_a_list_is_read() -> None:
    listed = parse(GOOD, "clients.yaml")
    assert [each.client for each in listed.clients] == [
        Client("cam1", 1_000_000, 1),
        Client("cam2", 500_000, 0, 100_000),
    ]
    assert [each.token_sha256 for each in listed.clients] == [token_hash("C0FFEE"), token_hash("decade")]
    assert listed.limits == Limits(100_000, 16)
    assert listed.link == 10_000_000
    assert "c0ffee" not in repr(listed)


@pytest.mark.parametrize(("old", "new", "said"), ERRORS)
def test_what_will_not_do_is_refused_by_its_field(old: str, new: str, said: str) -> None:
    assert old in GOOD
    with pytest.raises(InvalidError) as caught:
        parse(GOOD.replace(old, new, 1), "clients.yaml")
    text = str(caught.value)
    assert text.startswith(f"clients.yaml: {said}"), text
    assert "\n" not in text and "secret" not in text and "123456" not in text


def test_no_clients_are_no_list() -> None:
    with pytest.raises(InvalidError, match=r"clients: none given; write at least one"):
        parse("link: 1mbit\nbuffer: 10000 bytes\nclients: []", "c")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match=r"none.yaml: no such file or directory; name a file"):
        load(tmp_path / "none.yaml")
