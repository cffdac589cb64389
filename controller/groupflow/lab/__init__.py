"""A topology as a running network: Mininet's classes, supervised processes, health and link counters."""

import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec

from groupflow.needs import MissingError

_DEBIAN = "/usr/lib/python3/dist-packages"


class _Mininet:
    """Finds Debian's Mininet for any environment: it is a package of the system's Python, and in no registry.

    Nothing else of the system's Python is let in.
    """

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        if name != "mininet":
            return None
        found = PathFinder.find_spec(name, [_DEBIAN])
        if found is None or found.origin is None:
            raise MissingError("Mininet, which makes networks, is missing; run: sudo apt install mininet")
        if find_spec("distutils") is None:
            raise MissingError("Mininet needs distutils of Python 3.11; run: pip install 'setuptools<81'")
        return found


sys.meta_path.append(_Mininet)
