"""`groupflow`: the one command, `groupflow NOUN VERB`, of which cli/table.py has all nouns and verbs.

A command is a function with typed parameters, of which cli/frame.py makes arguments and options. It returns
its exit code or nothing, and raises errors of `groupflow.errors`: each is one line on stderr, and its kind
gives the exit code. A module of the table is imported when one of its commands is used.
"""

import errno
import os
import select
import sys
import warnings
from argparse import Action, ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from functools import partial
from pkgutil import resolve_name
from typing import Any, Never

from groupflow.cli import common, frame
from groupflow.cli.common import Common
from groupflow.cli.parser import Parser
from groupflow.cli.table import ALONE, NOUNS, Noun, Verb
from groupflow.errors import Error, Kind, foreseen, line_of

DYNAMIC = ("reproduce", "experiment", "demo", "bench", "validate")
"""commands whose arguments stand in the checkout: their function adds the arguments to a parser"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code (`errors.Kind`)."""
    warnings.showwarning = _warn
    try:
        code = _main(argv)
        if sys.stdout is not None:  # as behind `>&-`
            sys.stdout.flush()
        return code
    except OSError as error:  # of the output
        gone = isinstance(error, BrokenPipeError) and _reader_gone()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left of it has nowhere to go
        return 0 if gone else _failed(error)


def _reader_gone() -> bool:
    """Whether nobody reads the output any more, as behind `| head`, which has enough."""
    output = select.poll()
    output.register(1, 0)
    return any(event & select.POLLERR for _, event in output.poll(0))


def _main(argv: Sequence[str] | None) -> int:
    try:
        shared, words = common.taken_out(sys.argv[1:] if argv is None else argv)
        args, unknown = build_parser().parse_known_args(words)
        if unknown:
            args.parser.refuse(unknown)
        shared.refuse_unused(args.command, args.uses)
        return args.run(args, shared) or 0
    except SystemExit as done:  # of the parser: help, or a usage error
        if isinstance(done.__context__, BrokenPipeError):  # of rich
            raise done.__context__ from None
        return done.code if isinstance(done.code, int) else 1
    except KeyboardInterrupt:
        return Kind.INTERRUPTED.exit_code
    except Exception as error:
        gone = isinstance(error, BrokenPipeError) and _reader_gone()
        if gone or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
            raise  # the output may be what fails
        known = foreseen(error)
        if known is None:
            raise
        return _failed(known)


def _warn(message: Warning | str, *_: object) -> None:
    print(f"groupflow: warning: {message}", file=sys.stderr)


def _failed(error: Error | OSError) -> int:
    if isinstance(error, Error):
        if str(error):
            print(f"groupflow: {error}", file=sys.stderr)
        return error.kind.exit_code
    print(f"groupflow: {line_of(error)}", file=sys.stderr)
    return 1


def build_parser() -> Parser:
    parser = Parser(
        prog="groupflow",
        description="Group communication through P4 switches.",
        usage="groupflow NOUN VERB [options] [arguments]",
        formatter_class=RawDescriptionHelpFormatter,
        epilog=_everywhere(),
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    nouns = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser, title="commands",
                                   prog="groupflow")  # fmt: skip
    for noun in NOUNS:
        sentence = f"{noun.summary[0].upper()}{noun.summary[1:]}."
        below = nouns.add_parser(noun.name, help=noun.summary, description=sentence)
        below.later = partial(_add_verbs, noun)
    for verb in ALONE:
        _add_verb(nouns, "", verb)
    words = {verb.name for noun in NOUNS for verb in noun.verbs}
    parser.elsewhere = {
        word: [f"{noun.name} {word}" for noun in NOUNS if word in {verb.name for verb in noun.verbs}]
        for word in words
    }
    return parser


def _add_verbs(noun: Noun, parser: Parser) -> None:
    verbs = parser.add_subparsers(metavar="VERB", required=True, parser_class=Parser, title="verbs")
    for verb in noun.verbs:
        _add_verb(verbs, f"{noun.name} ", verb)


def _add_verb(parsers: Any, noun: str, verb: Verb) -> None:
    lines = [f"groupflow {noun}{verb.name} {words}".rstrip() for words in verb.example.split("\n")]
    parser = parsers.add_parser(verb.name, help=_summary(verb), formatter_class=RawDescriptionHelpFormatter)
    shared = [f"--{name}" for name in verb.uses]
    parser.epilog = "example: " + "\n         ".join(lines)
    parser.epilog += "\n\nalso, in any place: " + ", ".join((*shared, "-v", "-q"))
    parser.set_defaults(command=f"{noun}{verb.name}", uses=verb.uses, parser=parser)
    parser.later = partial(_add_arguments, verb)


def _add_arguments(verb: Verb, parser: Parser) -> None:
    function = _function(verb)
    parser.description = _about(function)
    if verb.name in DYNAMIC:
        function(parser)
        return
    frame.add_arguments(parser, function, Common)
    parser.set_defaults(run=partial(_run, function))


def _run(function: Callable[..., Any], args: Namespace, shared: Common) -> Any:
    return frame.call(function, vars(args), shared)


def _summary(verb: Verb) -> str:
    """One line for the help."""
    if verb.summary:
        return verb.summary
    text = _about(_function(verb))
    return (text[0].lower() + text[1:]).rstrip(".").replace("%", "%%")


def _function(verb: Verb) -> Callable[..., Any]:
    return resolve_name(f"groupflow.cli.{verb.function}")


def _about(function: Callable[..., Any]) -> str:
    """The first paragraph of a function's docstring."""
    return " ".join((function.__doc__ or "").partition("\n\n")[0].split())


def _everywhere() -> str:
    rows = [
        f"  {option + (f' {value}' if value else ''):<22}{help}" for option, value, help in common.EVERYWHERE
    ]
    return "\n".join(("options of every command, in any place:", *rows))


class _Version(Action):
    """Looks the version up when somebody asks: that takes as long as all else of the start."""

    def __call__(self, parser: ArgumentParser, *_: object) -> Never:
        from importlib.metadata import version

        print(f"groupflow {version('groupflow')}")
        parser.exit()


if __name__ == "__main__":
    sys.exit(main())
