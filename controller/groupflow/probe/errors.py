"""Errors of a probe. Every message is one line: cause; cure."""


class ProbeError(Exception):
    """A path could not be measured, or a server cannot serve."""


class RefusedError(ProbeError):
    """The far side does not serve this client: trying again without a change will not help."""


class BusyError(ProbeError):
    """The far side measures with another client."""
