"""The first import of every Python process that a recorded program starts.

See ``irlens.programs.child_processes``. The interpreter may be another one than the program's,
without irlens, and of any version.
"""

import json
import os
import sys
from importlib import import_module
from pathlib import Path


def _follow() -> None:
    message = json.loads(os.environ.pop("IRLENS_FOLLOW", "null"))
    sys.path[:] = [path for path in sys.path if path != str(Path(__file__).parent)]
    if message is None:
        return
    os.environ.pop("PYTHONPATH", None)
    if message["pythonpath"] is not None:
        os.environ["PYTHONPATH"] = message["pythonpath"]
    if sys.prefix != message["prefix"]:
        return
    if message["path"] not in sys.path:
        sys.path.append(message["path"])
    from irlens.programs.child_processes import join

    join(message["job"], message["token"])


def _import_the_users_own() -> None:
    mine = sys.modules.pop("sitecustomize")
    try:
        import_module("sitecustomize")
    except ImportError as error:
        sys.modules["sitecustomize"] = mine
        if error.name != "sitecustomize":
            raise


_follow()
_import_the_users_own()
