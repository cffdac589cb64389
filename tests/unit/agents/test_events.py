"""Events of gfagent, parsed or refused by the name of the field."""

import pytest

from groupflow.agents.events import Event, EventError, parse_event


def test_an_event_is_a_name_a_time_and_fields() -> None:
    event = parse_event('{"event":"progress","time":12.5,"bytes":7,"goodput_bps":1e6,"lost":["mb1"]}')
    assert (event.name, event.time) == ("progress", 12.5)
    assert event.integer("bytes") == 7
    assert event.number("goodput_bps") == 1e6
    assert event.texts("lost") == ("mb1",)
    assert event.texts("absent") == ()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("gfagent: no route", "not JSON"),
        ("[1]", "not an object"),
        ('{"time":1}', "event: None is no name"),
        ('{"event":"joined"}', "joined.time: None is no time"),
        ('{"event":"joined","time":true}', "joined.time: True is no time"),
        (b"\xff", "not JSON"),
    ],
)
def test_what_is_no_event_is_refused(line: str, message: str) -> None:
    with pytest.raises(EventError, match=message):
        parse_event(line)


@pytest.mark.parametrize(
    ("read", "field", "message"),
    [
        ("integer", "rate", "progress.rate: 1.5 is no integer"),
        ("integer", "done", "progress.done: True is no integer"),
        ("number", "name", "progress.name: 'x' is no number"),
        ("text", "rate", "progress.rate: 1.5 is no text"),
        ("texts", "rate", "progress.rate: 1.5 is no list"),
        ("texts", "mixed", r"progress.mixed: \['a', 1\] is no list"),
    ],
)
def test_a_field_of_the_wrong_type_is_named(read: str, field: str, message: str) -> None:
    event = Event("progress", 0.0, {"rate": 1.5, "done": True, "name": "x", "mixed": ["a", 1]})
    with pytest.raises(EventError, match=message):
        getattr(event, read)(field)
