"""`groupflow play`: shows a recording in a browser, as it was."""

import argparse
from pathlib import Path

from groupflow.cli import values
from groupflow.cli.command import OK, REFUSED, Subparsers, add_command, failing_with, on_stop

DEFAULT_ADDRESS = "127.0.0.1:9589"


def register(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers, "play", "show a recording of a network or a simulation in a browser (no root)", run,
        example="groupflow play lecture.rec",
    )  # fmt: skip
    parser.add_argument(
        "file", type=Path, help="recording that --record of net up, controller run or sim run made"
    )
    parser.add_argument(
        "--at", type=values.listen_address, default=DEFAULT_ADDRESS, metavar="HOST:PORT",
        help="address of the page (default: %(default)s)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    import asyncio

    from groupflow.agents.api_token import TokenFileError, page, published
    from groupflow.control.api.access import Guard
    from groupflow.control.api.page import make_player
    from groupflow.control.api.server import ApiError, listen, serve_app, url_of
    from groupflow.control.live.recording import Recording, RecordingError

    async def serve(token: str) -> None:
        print(f"{args.file}: {len(recording.times)} moments, at {page(url)}", flush=True)
        guard = Guard(make_player(recording), token, names=args.at[:1])
        serving = asyncio.create_task(serve_app(guard, listener))
        on_stop(serving.cancel)
        await asyncio.wait([serving])
        if not serving.cancelled():
            serving.result()

    with failing_with(RecordingError, code=REFUSED):
        recording = Recording.load(args.file)
    with (
        failing_with(ApiError, TokenFileError),
        listen(*args.at, option="--at") as listener,
        published([url := url_of(listener)]) as token,
    ):
        asyncio.run(serve(token))
    return OK
