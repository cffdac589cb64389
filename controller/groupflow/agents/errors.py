"""Errors of members of sessions and hosts of trees. Every message is one line: cause; cure."""

from groupflow.errors import Error, Kind

_KINDS = {kind.exit_code: kind for kind in (Kind.USAGE, Kind.INVALID)}
"""by exit code of gfagent; its others are failures"""


class ClientError(Error):
    """Any failure of a session member."""


class AgentError(ClientError):
    """gfagent gave up, and told the reason."""

    def __init__(self, code: str, cause: str, cure: str = "", exit_code: int = 1) -> None:
        """`code`: of gfagent's error event, such as `refused`, `join_timeout`, `no_receivers`, `sender_lost`,
        `put_out`, `gone` (packets that no cache has any more) or `interrupted`; `died`: it told no reason."""
        kind = Kind.INTERRUPTED if code == "interrupted" else None
        super().__init__(f"{cause}; {cure}" if cure else cause, _KINDS.get(exit_code, kind))
        self.code = code
        self.exit_code = exit_code


class TreeError(Error):
    """The service cannot be reached or started. The text is one line with the cure."""


class TreeRefusedError(TreeError):
    """The dispatchers refuse a request: trying again without a change will not help."""

    default = Kind.INVALID
