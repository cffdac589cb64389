"""A server that gathers the streams of many clients and tunes each of them (docs/gather.md).

`groupflow.endpoint.gather.Sender` is a client, for programs that send.
"""

from groupflow.endpoint.gather.sender import Sender

__all__ = ["Sender"]
