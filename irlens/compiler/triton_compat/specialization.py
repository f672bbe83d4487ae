"""What Triton compiles each parameter of a call for, as its own binder says."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

import triton.language as tl
from triton.runtime.jit import JITFunction, KernelParam

from irlens.compiler.calls.argument_values import Argument
from irlens.compiler.sources.inductor import Specialization
from irlens.compiler.triton_compat import tensors
from irlens.compiler.triton_compat.jit import Kernel, Values, manifest_values
from irlens.model.variants import Property, Relaxation, Specialized

#: Returns the specialization of a call: its arguments, then its constexprs and options.
Specialize: TypeAlias = Callable[[Mapping[str, Argument], Values], tuple[Specialized, ...]]

#: What a letter of the binder's answer says of an integer or a pointer. AMD's compiler adds "S".
_PROPERTIES: dict[str, Property] = {"D": "divisible by 16", "S": "within 2 GB"}
#: The same of a kernel that TorchInductor generated.
_ATTRIBUTES: dict[tuple[str, int], Property] = {
    ("tt.divisibility", 16): "divisible by 16", ("tt.pointer_range", 32): "within 2 GB",
}  # fmt: skip


def binder(kernel: Kernel) -> Specialize:
    """Return the function that specializes calls of a kernel for the active driver's GPU."""
    if kernel.specialization is not None:
        generated = kernel.specialization
        return lambda args, settings: _generated(kernel, generated, settings)
    bind = kernel.function.create_binder()[-1]

    def specialize(args: Mapping[str, Argument], settings: Values) -> tuple[Specialized, ...]:
        values = tensors.with_descriptors(kernel, tensors.placeholders(args), args)
        bound, specialization, *_ = bind(**values, **settings)
        parameters = zip(kernel.function.params, specialization, strict=False)
        return tuple(
            _specialized(each, found[0], found[1], bound[each.name]) for each, found in parameters
        )

    return specialize


@contextmanager
def relaxed(kernel: Kernel, changes: Mapping[str, Relaxation]) -> Iterator[None]:
    """Let Triton compile parameters as if the kernel's file declared them otherwise."""
    changed = [each for each in kernel.function.params if each.name in changes]
    before = [dict(vars(each)) for each in changed]
    for each in changed:
        change = changes[each.name]
        if change == "argument":
            vars(each)["is_constexpr"] = False  # a cached property
        else:
            setattr(each, change, True)
    try:
        yield
    finally:
        for each, attributes in zip(changed, before, strict=True):
            vars(each).clear()
            vars(each).update(attributes)


def _specialized(parameter: KernelParam, type_: object, key: object, value: object) -> Specialized:
    """Return the specialization of a parameter.

    Args:
        type_: Its type in the binder's answer: "i32", "constexpr", or a tuple's.
        key: What else the answer says: its properties, or the value that is compiled in.
    """
    if type_ == "constexpr":
        return Specialized(
            name=parameter.name,
            constexpr=parameter.is_constexpr,
            value=_value(value if parameter.is_constexpr else key),
        )
    letters = key if isinstance(key, str) else ""
    known = tuple(_PROPERTIES[each] for each in letters if each in _PROPERTIES)
    # Of a tuple, or of what a later Triton says.
    other = () if len(known) == len(letters) and (key is None or letters == key) else (str(key),)
    return Specialized(name=parameter.name, type=str(type_), properties=(*known, *other))


def _generated(
    kernel: Kernel, generated: Specialization, settings: Values
) -> tuple[Specialized, ...]:
    """Return what a generated kernel's file says, whatever the values of its arguments."""
    function: JITFunction = kernel.function
    constants = {**generated.constants, **manifest_values(settings)}
    return tuple(
        Specialized(name=each.name, constexpr=each.is_constexpr, value=constants.get(each.name))
        if each.is_constexpr or each.name in constants
        else Specialized(
            name=each.name,
            type=generated.types[each.name],
            properties=tuple(
                _ATTRIBUTES.get(attribute, " ".join(map(str, attribute)))
                for attribute in generated.attributes.get(each.name, ())
            ),
        )
        for each in function.params
    )


def _value(value: object) -> bool | int | float | str | None:
    if isinstance(value, tl.constexpr):
        value = value.value
    return manifest_values({"": value})[""]
