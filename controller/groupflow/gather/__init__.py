"""A server that gathers the streams of many clients and tunes each of them (docs/reference/gather.md).

`groupflow.gather.Sender` is a client, for programs that send.
"""

from groupflow.gather.sender import Sender

__all__ = ["Sender"]
