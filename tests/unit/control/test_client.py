"""`groupflow.api`: a controller's sessions, tokens, members and events, for programs."""

import asyncio
from typing import Any

import pytest

from groupflow import api
from groupflow.agents.arguments import ArgumentError
from groupflow.errors import Error, Kind, UnavailableError
from groupflow.model.session import NewTcp
from tests.support.api import served


async def test_sessions_are_made_listed_and_deleted_with_their_tokens() -> None:
    async with served() as (_, _, url):

        def work() -> None:
            with api.Client(url) as controller:
                made = controller.create_session(8, mode="n2n", policy="isolate", window=64)
                assert (made.id, made.mode, made.policy, made.window) == (8, "n2n", "isolate", 64)
                assert controller.tokens(8) == made.tokens and len(made.tokens.join) > 8
                assert [session.id for session in controller.sessions()] == [7, 8]
                assert {each.name: each.role for each in controller.members(7)} == {
                    "h1": "sender", "h2": "receiver", "h3": "receiver",
                }  # fmt: skip
                assert controller.health().sessions == 2
                assert next(iter(controller.events(recent=1)))["event"]
                controller.delete_session(8)
                with pytest.raises(Error, match="no session 8") as error:
                    controller.members(8)
                assert error.value.kind is Kind.INVALID
                assert controller.request("GET", "/links")

        await asyncio.to_thread(work)


@pytest.mark.parametrize("tcp", [NewTcp(ports=(5000,)), {"ports": [5000]}])
def test_settings_of_tcp_are_a_model_or_a_mapping(tcp: object, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []

    def refuse(_self: object, _method: str, _path: str, body: object) -> None:
        sent.append(body)
        raise Error("enough")

    monkeypatch.setattr(api.Client, "request", refuse)
    with api.Client("http://127.0.0.1:1") as controller, pytest.raises(Error, match="enough"):
        controller.create_session(tcp=tcp)
    assert list(sent[0]["tcp"]["ports"]) == [5000] and None not in sent[0]["tcp"].values()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"mode": "fast"}, "mode: 'fast' will not do; it should be 'e2e' or 'n2n'"),
        ({"window": 0}, "window: 0 will not do; it should be greater than or equal to 1"),
        ({"polcy": "strict"}, "polcy: unknown; settings are id, lifetime, mode, policy, tcp, window"),
    ],
)
def test_a_wrong_setting_is_refused_before_it_is_sent(given: dict[str, object], text: str) -> None:
    with api.Client("http://127.0.0.1:1") as controller, pytest.raises(ArgumentError) as error:
        controller.create_session(**given)  # pyright: ignore[reportArgumentType]
    assert text in str(error.value)


@pytest.mark.parametrize("url", ["nonsense", 5])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(ArgumentError, match=f"url: '{url}' is no URL; write one like http://10.0.0.1:9580"):
        api.Client(url)


def test_without_a_controller_the_line_names_the_argument() -> None:
    with api.Client("http://127.0.0.1:1") as controller, pytest.raises(UnavailableError) as error:
        controller.sessions()
    assert str(error.value).startswith("no controller at http://127.0.0.1:1 (connection refused)")
    assert "name its url=" in str(error.value) and "--" not in str(error.value)
