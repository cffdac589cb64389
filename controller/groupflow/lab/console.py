"""Mininet's prompt, which no mistake ends or stops: each is one line, from a terminal, a file or a pipe."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUntypedBaseClass=false
# pyright: reportUnknownArgumentType=false
# (Mininet has no types.)

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from select import select
from typing import Any

from groupflow.errors import Error, InvalidError, UsageError, foreseen, reason
from groupflow.lab.host import GroupHost, environment
from groupflow.lab.mininet import CLI, quietRun

_LONGEST = 4000
"""bytes of a command: a terminal's line has 4,095"""
_LOOK_SECONDS = 0.2
_COMMENT = re.compile(
    r"""((?:(?:[^\s'"#\\]|\\.|'[^']*'|"(?:\\.|[^"\\])*"|['"\\])#*|\s)*)(?:#.*)?""", re.DOTALL
)
"""a line, and a comment that begins a word outside quotes"""


class Left(SystemExit):
    """The network's process is to end."""


class Console(CLI):
    """Reads commands until `exit`."""

    def __init__(self, mininet: Any) -> None:
        self._sources: list[Path] = []
        """files of commands that are being read, each named by the one before"""
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")  # a wrong byte is a wrong command
        super().__init__(mininet, stdin=sys.stdin)

    def getLocals(self) -> dict[str, object]:  # noqa: N802 (Mininet's name)
        """Names for `py` and `px`. Python's own `exit` closes standard input."""
        return {**super().getLocals(), "exit": sys.exit, "quit": sys.exit}

    def onecmd(self, line: str) -> bool:
        """Carries a command out. Whether it was the last one."""
        try:
            return bool(super().onecmd(line))
        except Left:
            raise
        except SystemExit:
            self.refuse("Python's exit ends no network; write: exit")
        except Exception as error:  # noqa: BLE001 (whatever fails in a command must not end the network)
            known = foreseen(error)
            named = f"{known.filename}: " if isinstance(known, OSError) and known.filename else ""
            told = named + reason(error) if isinstance(known, OSError) else str(error)
            self.refuse(told if known or isinstance(error, ValueError) else f"{type(error).__name__}: {told}")
        return False

    def refuse(self, text: str) -> None:
        sys.stdout.flush()
        print(f"groupflow: {text}", file=sys.stderr, flush=True)

    def isatty(self) -> bool:
        """Whether somebody types the commands."""
        return not self._sources and super().isatty()

    def precmd(self, line: str) -> str:
        match = _COMMENT.fullmatch(line)
        return match[1] if match else line

    def words(self, line: str) -> list[str]:
        """The words of a command, as a shell's. Raises UsageError."""
        try:
            return shlex.split(line)
        except ValueError as error:
            raise UsageError(f"{line}: {str(error).lower()}") from None

    def do_source(self, line: str) -> Any:
        """source FILE: read commands from a file; its `exit` ends the network"""
        words = self.words(line)
        if len(words) != 1:
            raise UsageError("write: source FILE")
        path = Path(words[0]).expanduser().resolve()
        if not path.is_file():
            raise InvalidError(f"{words[0]}: no such file; name a file of commands")
        if path in self._sources:
            raise InvalidError(f"{words[0]}: it is being read already")
        self._sources.append(path)
        try:
            lines = path.read_text(errors="replace").splitlines()
            return any(self.onecmd(self.precmd(each)) for each in lines)
        finally:
            self._sources.pop()

    def do_sh(self, line: str) -> None:
        """sh COMMAND: run a command of the shell beside the switches"""
        self.run_program(line, shell=True)

    def run_program(self, command: Any, **more: Any) -> int:
        """Runs a program to its end. The next lines of a file of commands are not its input."""
        stdin = None if self.isatty() else subprocess.DEVNULL
        return subprocess.run(command, stdin=stdin, check=False, **more).returncode

    def do_noecho(self, line: str) -> None:
        """noecho NODE COMMAND: run a command that shows itself what is typed"""
        try:
            super().do_noecho(line)
        finally:
            if self.isatty():
                quietRun("stty echo")

    def do_x(self, line: str) -> None:
        """x HOST [COMMAND]: a tunnel for X11 to a host, and a program that uses it"""
        if self._on_display(line.split()[:1], "x h1 xterm"):
            super().do_x(line)

    def do_xterm(self, line: str, term: str = "xterm") -> None:
        """xterm HOST ...: a terminal at each host, where there is a display"""
        if self._on_display(line.split(), f"{term} h1"):
            super().do_xterm(line, term)

    def _on_display(self, names: list[str], example: str) -> bool:
        if not names:
            raise UsageError(f"write: {example}")
        for name in names:
            self.node(name)
        if not os.environ.get("DISPLAY"):
            raise Error("no display: log in with ssh -X, or write commands after a host's name: h1 ip addr")
        return True

    def node(self, name: str) -> Any:
        """Raises InvalidError."""
        nodes: Mapping[str, Any] = self.mn
        if name not in nodes:
            raise InvalidError(f"{name}: no such node; nodes are {', '.join(sorted(nodes))}")
        return nodes[name]

    def default(self, line: str) -> None:
        """NODE COMMAND: runs a command in a node's shell, with addresses in the place of hosts' names."""
        first, _, rest = line.strip().partition(" ")
        if first not in self.mn:
            raise UsageError(f"{first or 'a node'}: no such command or node; `help` and `nodes` list them")
        if not rest.strip():
            raise UsageError(f"write a command for {first}: {first} ip addr")
        text = " ".join(map(self._address, rest.strip().split(" ")))
        if text.endswith("&"):
            text += ' printf "\\001%d\\012" $! '  # Mininet's mark of a command in the background
        # By eval, a quote or a bracket that is left open is an error of the command, and ends with it.
        known = " ".join(f"{key}={shlex.quote(value)}" for key, value in environment(first).items())
        command = f"{known} eval {shlex.quote(text)}" + ("" if self.isatty() else " </dev/null")
        if len(command.encode()) > _LONGEST:
            raise InvalidError(f"the command is too long; write it to a file: {first} sh FILE")
        node = self.mn[first]
        node.sendCmd(command)
        self.waitForNode(node)

    def _address(self, word: str) -> str:
        node: Any = self.mn[word] if word in self.mn else None  # noqa: SIM401 (Mininet's `get` raises)
        if not isinstance(node, GroupHost):
            return word
        interface: Any = node.defaultIntf()
        return interface.updateIP() or word

    def waitForNode(self, node: Any) -> None:  # noqa: N802 (Mininet's name)
        """Prints a command's output until it ends, or its shell does; what is typed is its input."""
        typed = [self.stdin.fileno()] if self.isatty() else []
        if typed:
            quietRun("stty -icanon min 1")
        while node.waiting and node.shell.poll() is None:
            try:
                ready, _, _ = select([node.stdout.fileno(), *typed], [], [], _LOOK_SECONDS)
                if {*typed} & {*ready}:
                    os.write(node.stdin.fileno(), os.read(typed[0], 1024))
                if node.stdout.fileno() in ready:
                    print(node.monitor(), end="", flush=True)
            except KeyboardInterrupt:
                node.sendInt()
        if node.waiting:
            print(node.monitor(timeoutms=0), end="")
            node.waiting = False
