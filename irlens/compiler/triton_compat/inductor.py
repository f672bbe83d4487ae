"""Watching what TorchInductor launches: it goes around Triton's own launch."""

from collections.abc import Callable, Mapping
from functools import wraps
from types import ModuleType
from typing import Any

from irlens.compiler.after_import import after_import
from irlens.compiler.triton_compat.kernels import Values

#: Receives Triton's hash of a variant, its function (``None`` if another process has compiled it),
#: its constexprs, its arguments, and the grid.
Tell = Callable[[str, Any, Values, Values, Any], None]


def watch_inductor(tell: Tell) -> None:
    """Tell of each variant of TorchInductor's when it is launched first, in the whole process.

    Args:
        tell: Receives it when the launch has been given to the GPU.
    """
    # Otherwise TorchDynamo would compile what watches along with the program.
    after_import("torch._dynamo.trace_rules", lambda rules: rules.add("irlens"))
    after_import("torch._inductor.runtime.triton_heuristics", lambda module: _watch(module, tell))


def _watch(heuristics: ModuleType, tell: Tell) -> None:
    """Put a watch around every launcher that is generated.

    Before PyTorch 2.7 launchers are generated elsewhere: what they launch is kept, without
    arguments.
    """
    result = getattr(heuristics, "CompileResult", None)
    generate = getattr(result, "_gen_launcher_code", None)
    if result is None or generate is None:
        return

    def generated(self: Any, scope: Values, def_args: Any, runner_args: Any) -> Any:
        launch = generate(self, scope, def_args, runner_args)

        told = False

        @wraps(launch)
        def watched(*args: Any, **kwargs: Any) -> Any:
            nonlocal told
            answer = launch(*args, **kwargs)
            if told:
                return answer
            told = True
            named = {**dict(zip(def_args, args, strict=False)), **kwargs}
            grid = heuristics.GridExpr.from_meta(self.inductor_meta, self.config)
            function = getattr(getattr(self.kernel, "src", None), "fn", None)
            constexprs, given = _divided(self.compile_meta, named)
            tell(self.kernel.hash, function, constexprs, given, grid.eval_slow(named))
            return answer

        scope["launcher"] = watched  # from where it is taken
        return watched

    result._gen_launcher_code = generated


def _divided(meta: Mapping[str, Any], given: Values) -> tuple[Values, Values]:
    """Return the constexprs and the arguments of a launch, in the order of the parameters."""
    params = list(meta["signature"])
    constants = {name: meta["constants"][name] for name in params if name in meta["constants"]}
    constexprs = {name: value for name, value in constants.items() if name not in given}
    return constexprs, {name: given[name] for name in params if name in given}
