"""Errors of a member of a session, a type for each. Every message is one line: cause; cure."""

from collections.abc import Callable

from groupflow.errors import Error, Kind

_KINDS = {kind.exit_code: kind for kind in (Kind.USAGE, Kind.INVALID)}
"""by exit code of gfagent; its others are failures, or what the type of the error says"""


class ClientError(Error):
    """Any failure of a session member."""


class ProgramNotFoundError(ClientError):
    """A program of groupflow is not installed."""


class AgentError(ClientError):
    """gfagent gave up, and told the reason."""

    def __init__(self, code: str, cause: str, cure: str = "", exit_code: int = 1) -> None:
        super().__init__(f"{cause}; {cure}" if cure else cause, _KINDS.get(exit_code))
        self.code = code
        self.exit_code = exit_code


class AgentDiedError(AgentError):
    """gfagent ended without a reason of its own: killed, or crashed."""


class RefusedError(AgentError):
    """The controller does not let this member in: unknown session, wrong token, session full."""


class JoinTimeoutError(AgentError):
    """No controller answered."""


class InterruptedSessionError(AgentError):
    """gfagent was asked to stop before the stream was complete."""

    default = Kind.INTERRUPTED


class NoAcknowledgementError(AgentError):
    """The group stopped acknowledging."""


class NoReceiversError(AgentError):
    """Every receiver left or was lost."""


class SessionDeletedError(AgentError):
    """The session was deleted while in use."""


class SenderLostError(AgentError):
    """The sender left or was lost before the stream was complete."""


class PutOutError(AgentError):
    """A split agent could not serve this member: its program did not listen, or closed the connection."""


class DataGoneError(AgentError):
    """Packets that this receiver lacks are in no cache any more."""


BY_CODE: dict[str, type[AgentError]] = {
    "refused": RefusedError,
    "join_timeout": JoinTimeoutError,
    "interrupted": InterruptedSessionError,
    "no_acknowledgement": NoAcknowledgementError,
    "no_receivers": NoReceiversError,
    "session_deleted": SessionDeletedError,
    "sender_lost": SenderLostError,
    "put_out": PutOutError,
    "gone": DataGoneError,
}
"""The error type of each `code` of gfagent's error event; others are plain AgentError."""


def from_event(event: dict[str, object], words: Callable[[str], str] = str) -> AgentError:
    """The typed error of gfagent's `error` event; `words` makes of its text what is shown."""
    code = str(event.get("code", "unknown"))
    kind = BY_CODE.get(code, AgentError)
    exit_code = event.get("exit")
    return kind(
        code,
        words(str(event.get("cause", "gfagent failed"))),
        words(str(event.get("cure", ""))),
        exit_code if isinstance(exit_code, int) else 1,
    )


class TreeError(Error):
    """The service cannot be reached or started. The text is one line with the cure."""


class TreeRefusedError(TreeError):
    """The dispatchers refuse a request: trying again without a change will not help."""

    default = Kind.INVALID
