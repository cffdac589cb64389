"""Files of a network that was started by sudo belong to whoever called sudo."""

import os
from contextlib import suppress
from pathlib import Path


def make_folder(folder: Path) -> None:
    """Makes a folder, with those above it."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        _give(folder)


def hand_over(folder: Path) -> None:
    """Gives all files in a folder to the caller of sudo. Files that go meanwhile are left out."""
    for here, folders, files in os.walk(folder):
        for name in (*folders, *files):
            _give(Path(here, name))


def _give(path: Path) -> None:
    user, group = (os.environ.get(name, "") for name in ("SUDO_UID", "SUDO_GID"))
    if os.geteuid() == 0 and user.isdecimal() and group.isdecimal():
        with suppress(OSError):
            os.chown(path, int(user), int(group), follow_symlinks=False)
