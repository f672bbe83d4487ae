"""What each Python process imports first that a recorded program starts; see ``processes``.

It may be another Python than the program's, with nothing of irlens, and of any version.
"""

import json
import os
import sys
from importlib import import_module
from pathlib import Path


def _follow() -> None:
    told = json.loads(os.environ.pop("IRLENS_FOLLOW", "null"))
    sys.path[:] = [path for path in sys.path if path != str(Path(__file__).parent)]
    if told is None:
        return
    os.environ.pop("PYTHONPATH", None)
    if told["pythonpath"] is not None:
        os.environ["PYTHONPATH"] = told["pythonpath"]
    if sys.prefix != told["prefix"]:
        return
    if told["path"] not in sys.path:
        sys.path.append(told["path"])
    from irlens.record.child import join

    join(told["order"], told["token"])


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
