"""The classes of Mininet, which makes all later loggers of a process its own; their lines have no end."""

import logging

from mininet.cli import CLI
from mininet.link import Link
from mininet.net import Mininet
from mininet.node import Host as MininetHost
from mininet.node import Node
from mininet.node import Switch as MininetSwitch
from mininet.util import quietRun  # pyright: ignore[reportUnknownVariableType]

__all__ = ["CLI", "Link", "Mininet", "MininetHost", "MininetSwitch", "Node", "quietRun"]

logging.setLoggerClass(logging.Logger)
