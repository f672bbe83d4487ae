"""Functions that ``torch.compile`` compiles: what they run before and after.

Before is the graph that TorchDynamo traced, run operator by operator on PyTorch's fake tensors, as
PyTorch does without a compiler. After is what the compiled graph runs when it is called first.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import torch
from torch._subclasses.fake_tensor import FakeTensor

from irlens.compiler.fake_cuda.device import within
from irlens.compiler.fake_cuda.recorded_operators import tensors_in
from irlens.compiler.import_hooks import after_import
from irlens.compiler.operations.log import OperationLog, RecordingMode
from irlens.compiler.triton_compat.autotuning import pause_while_measuring
from irlens.model.operations import CompiledGraph

#: The function, in the stack of an operator of a graph: outermost frame first.
_FUNCTION = re.compile(r", line \d+, in (\S+)")


def watch_compiled_graphs(log: OperationLog) -> None:
    """Record every graph that TorchInductor compiles from now on, and what it runs."""
    watch = _Watch(log)
    after_import("torch._inductor.compile_fx", watch.hook)
    pause_while_measuring(log.paused)


class _Watch:
    """Hooks the compiler of graphs."""

    def __init__(self, log: OperationLog) -> None:
        self._log = log
        self._is_compiling = False

    def hook(self, compile_fx: Any) -> None:
        """Hook the compilation of a graph, and that of its parts, which may come later."""
        compile_, inner = compile_fx.compile_fx, compile_fx.compile_fx_inner

        def compiled(model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            if self._is_compiling:  # it calls itself with other settings
                return compile_(model, inputs, *args, **kwargs)
            self._is_compiling = True
            try:
                with self._log.paused():
                    before = _before(model)
                    names = _placeholders(model)
                    function = compile_(model, inputs, *args, **kwargs)
            finally:
                self._is_compiling = False
            return self._called(function, before, names)

        compiled_inner = within(inner, self._log.paused)
        compile_fx.compile_fx = compiled
        compile_fx.compile_fx_inner = compiled_inner
        defaults = getattr(compile_, "__defaults__", None) or ()
        compile_.__defaults__ = tuple(
            compiled_inner if each is inner else each for each in defaults
        )

    def _called(
        self, function: Callable[..., Any], before: CompiledGraph, names: Sequence[str]
    ) -> Callable[..., Any]:
        """Return a compiled graph that records what it runs when it is called first."""
        number = len(self._log.graphs)
        name = before.name
        if any(each.name == name for each in self._log.graphs):
            name = f"{name} ({number + 1})"
        self._log.graphs.append(msgspec.structs.replace(before, name=name))
        is_known = False

        def called(*args: Any) -> Any:
            nonlocal is_known
            log = self._log
            given = dict(zip(names, _flat(args), strict=False))
            begin, outer = len(log.operations), log.graph
            log.graph = name
            try:
                result = function(*args)
            finally:
                log.graph = outer
            if not is_known and not log.is_paused:
                is_known = True
                tensors = tensors_in(result)
                after = log.program(given, tensors, begin)
                log.graphs[number] = msgspec.structs.replace(log.graphs[number], after=after)
            return result

        if getattr(function, "_boxed_call", False):
            called._boxed_call = True  # type: ignore[attr-defined]  # the caller asks for it
        return called


def _flat(args: tuple[Any, ...]) -> list[Any]:
    """Return the arguments of a call; a boxed one has them in a list."""
    return list(args[0]) if len(args) == 1 and isinstance(args[0], list) else list(args)


def _placeholders(model: Any) -> list[str]:
    """Return the names of a graph's inputs: "x" for "L_x_"."""
    nodes = [node for node in model.graph.nodes if node.op == "placeholder"]
    return [re.sub(r"^[lL]_(.*)_$", r"\1", node.name) or node.name for node in nodes]


def _name(model: Any) -> str:
    for node in model.graph.nodes:
        found = _FUNCTION.search(node.meta.get("stack_trace") or "")
        if found is not None:
            return found[1]
    return "graph"


def _before(model: Any) -> CompiledGraph:
    """Return the graph that is compiled, with the operators that it runs without a compiler."""
    name = _name(model)
    nodes = [node for node in model.graph.nodes if node.op == "placeholder"]
    given = [node.meta.get("example_value") for node in nodes]
    tensors = [each for each in given if isinstance(each, FakeTensor)]
    sizes = [size for each in tensors for size in (*each.shape, *each.stride())]
    modes = {each.fake_mode for each in tensors}
    if any(isinstance(each, torch.SymInt) for each in (*given, *sizes)):
        return CompiledGraph(name=name, reason="its sizes vary from call to call")
    if len(modes) != 1:
        return CompiledGraph(name=name, reason="it takes no tensors")
    log = OperationLog(lambda tensor: tensor.device.type == "cuda")
    grad = torch.is_grad_enabled()
    try:
        with torch.no_grad(), modes.pop(), RecordingMode(log):
            copies = [each.detach() if torch.is_tensor(each) else each for each in given]
            log.clear()
            result = model(*copies)
    except Exception as error:  # a graph may hold any operator, and raise anything
        reason = str(error).strip().partition("\n")[0]
        return CompiledGraph(name=name, reason=f"{type(error).__name__}: {reason}")
    finally:
        torch.set_grad_enabled(grad)
    outputs = tensors_in(result)
    named = dict(zip(_placeholders(model), copies, strict=False))
    return CompiledGraph(name=name, before=log.program(named, outputs))
