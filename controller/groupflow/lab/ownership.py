"""Files of a network that was started by sudo belong to whoever called sudo."""

import os
from contextlib import suppress
from pathlib import Path


def make_folder(folder: Path) -> None:
    """Makes a folder, with those above it, for the caller of sudo."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        if (caller := _caller()) is not None:
            os.chown(folder, *caller)


def hand_over(folder: Path, since: float) -> None:
    """Gives root's files in a folder of the caller of sudo to that caller: those that changed since a time,
    so that others of root, which may stand there too, stay root's."""
    caller = _caller()
    if caller is None or not folder.is_dir() or folder.stat().st_uid != caller[0]:
        return
    for here, folders, files in os.walk(folder):
        for path in (Path(here, name) for name in (*folders, *files)):
            with suppress(OSError):  # gone meanwhile
                if path.lstat().st_uid == 0 and path.lstat().st_mtime >= since:
                    os.chown(path, *caller, follow_symlinks=False)


def _caller() -> tuple[int, int] | None:
    """User and group that called sudo; None: nobody did."""
    user, group = (os.environ.get(name, "") for name in ("SUDO_UID", "SUDO_GID"))
    return (int(user), int(group)) if os.geteuid() == 0 and user.isdecimal() and group.isdecimal() else None
