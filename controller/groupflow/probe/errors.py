"""Errors of a probe. Every message is one line: cause; cure."""

from groupflow.errors import Error, Kind


class ProbeError(Error):
    """A path could not be measured, or a server cannot serve."""


class OptionsError(ProbeError):
    """Options with which nothing can be measured."""

    default = Kind.USAGE


class RefusedError(ProbeError):
    """The far side does not serve this client: trying again without a change will not help."""

    default = Kind.INVALID


class BusyError(ProbeError):
    """The far side measures with another client."""
