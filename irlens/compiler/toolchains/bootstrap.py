"""Entry point in another Python interpreter: report what it is, or compile with its Triton.

irlens starts this file by its path, so it may only use the standard library, of whatever version
that interpreter has. The packages that it needs from irlens's environment are imported file by
file; the rest of that environment, above all its Triton, stays invisible.

The command is JSON on stdin, the reply JSON on stdout.
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
    """Execute the command: ``{}`` asks for the interpreter's facts, any other names its task."""
    del sys.path[0]  # the folder of this file: its modules are not top-level ones
    # irlens starts the interpreter with -E, since PYTHONPATH could hide its own Triton. A kernel's
    # file may still import from there, so its folders come last.
    sys.path += [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    replies = os.dup(1)
    os.dup2(2, 1)  # keep other output out of the reply
    command = json.load(sys.stdin)
    try:
        reply = _execute(command) if command else _facts()
    except KeyboardInterrupt:
        sys.exit(130)
    with os.fdopen(replies, "w", encoding="utf-8") as stream:
        json.dump(reply, stream)


def _facts() -> dict[str, Any]:
    """Return the reply to ``{}``, see ``interpreters._Facts``."""
    triton = importlib.util.find_spec("triton")
    return {
        "python": list(sys.version_info[:2]),
        "abi": sysconfig.get_config_var("SOABI"),
        "triton": triton and triton.origin,
        "msgspec": importlib.util.find_spec("msgspec") is not None,
    }


def _execute(command: dict[str, Any]) -> dict[str, Any]:
    """Return the reply to a task, see ``interpreters._Reply``."""
    for name, file in command["packages"].items():
        _import_file(name, Path(file))
    import msgspec

    from irlens.compiler.request import Request
    from irlens.model.errors import IrlensError

    requests = msgspec.convert(command["requests"], list[Request])
    try:
        return {"result": _TASKS[command["task"]](requests, command["triton"])}
    except IrlensError as error:
        return {"message": error.message, "hint": error.hint}
    except ImportError as error:
        return {"message": f"{sys.executable} cannot import its Triton: {error}", "hint": None}


def _compile(requests: list[Any], triton: str) -> str:
    """Compile the only request; return the store's directory of the captures."""
    from irlens.compiler.compile_request import compile_here

    return str(compile_here(requests[0], triton))


def _plan(requests: list[Any], triton: str) -> str:
    """Return the plan of requests for one kernel: MessagePack in hexadecimal digits."""
    import msgspec  # not JSON, which has no infinity for a constexpr

    from irlens.compiler.planning import plan_here

    return msgspec.msgpack.encode(plan_here(requests, triton)).hex()


_TASKS = {"compile": _compile, "plan": _plan}


def _import_file(name: str, file: Path) -> None:
    """Import a package or module from its file; its neighbours stay invisible."""
    spec = importlib.util.spec_from_file_location(
        name,
        file,
        submodule_search_locations=[str(file.parent)] if file.name == "__init__.py" else None,
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not a module")
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


if __name__ == "__main__":
    main()
