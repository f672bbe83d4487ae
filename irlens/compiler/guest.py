"""What another Python interpreter runs for irlens: it says what it is, or works with its Triton.

It is started by path, so that it begins with the standard library alone, of whatever version that
interpreter is. What it needs of this irlens's environment is lent to it file by file; the rest of
that environment, its Triton above all, stays out of its sight.

The order comes as JSON on stdin, the answer goes as JSON to stdout.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import sysconfig
from pathlib import Path
from typing import Any


def main() -> None:
    """Carry out the order: ``{}`` asks what this interpreter is, any other names its work."""
    del sys.path[0]  # the folder of this file, whose modules are not top-level ones
    # PYTHONPATH is ignored at the start, since it could hide the interpreter's own Triton. What
    # lies there may be needed by a kernel's file all the same.
    sys.path += [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    answers = os.dup(1)
    os.dup2(2, 1)  # whatever is printed on the way must not mix with the answer
    order = json.load(sys.stdin)
    try:
        answer = _carry_out(order) if order else _facts()
    except KeyboardInterrupt:
        sys.exit(130)
    with os.fdopen(answers, "w", encoding="utf-8") as stream:
        json.dump(answer, stream)


def _facts() -> dict[str, Any]:
    triton = importlib.util.find_spec("triton")
    return {
        "python": list(sys.version_info[:2]),
        "abi": sysconfig.get_config_var("SOABI"),
        "triton": triton and triton.origin,
        "msgspec": importlib.util.find_spec("msgspec") is not None,
    }


def _carry_out(order: dict[str, Any]) -> dict[str, Any]:
    for name, file in order["lent"].items():
        _borrow(name, Path(file))
    import msgspec

    from irlens.compiler.request import Request
    from irlens.model.errors import IrlensError

    requests = msgspec.convert(order["requests"], list[Request])
    try:
        return {"done": _WORK[order["work"]](requests, order["triton"])}
    except IrlensError as error:
        return {"message": error.message, "hint": error.hint}
    except ImportError as error:
        return {"message": f"{sys.executable} cannot import its Triton: {error}", "hint": None}


def _compile(requests: list[Any], triton: str) -> str:
    """Compile the one request; return the store's directory of the captures."""
    from irlens.compiler.make import compile_here

    return str(compile_here(requests[0], triton))


def _plan(requests: list[Any], triton: str) -> str:
    """Return what the requests, all of one kernel, come to: MessagePack, as hexadecimal digits."""
    import msgspec  # not JSON, which has no word for an infinite constexpr

    from irlens.compiler.planning import plan_here

    return msgspec.msgpack.encode(plan_here(requests, triton)).hex()


_WORK = {"compile": _compile, "plan": _plan}


def _borrow(name: str, file: Path) -> None:
    """Import a package or module from its file, without making its neighbours importable."""
    spec = importlib.util.spec_from_file_location(
        name,
        file,
        submodule_search_locations=[str(file.parent)] if file.name == "__init__.py" else None,
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no module")
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


if __name__ == "__main__":
    main()
