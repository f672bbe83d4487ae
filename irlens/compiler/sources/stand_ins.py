"""Stand-ins for modules that are not installed.

A kernel's file imports PyTorch for the code that calls the kernel. Importing, annotating, deriving
from and decorating with a stand-in works, and so does calling it as long as nobody looks at the
result. Asking for a value (a number, a truth value, an element) raises ``StandInError``: a
stand-in never invents one.
"""

from abc import ABCMeta
from types import FunctionType, ModuleType
from typing import Any, NoReturn

from irlens.compiler.sources.target_facts import described

#: What PyTorch itself answers where it finds no GPU, and what other names of an object stand for.
_ANSWERS: dict[str, object] = {
    "torch.cuda.device_count": lambda *_: 0,
    "torch.version.cuda": None,
    "torch.version.hip": None,
    "torch.version.xpu": None,
}
#: Ends of functions that ask whether something is there: it is not.
_NOT_THERE = ("is_available", "is_initialized", "is_built", "is_compiling")
#: Names of one dtype.
_ALIASES = {
    "torch.half": "torch.float16",
    "torch.float": "torch.float32",
    "torch.double": "torch.float64",
    "torch.short": "torch.int16",
    "torch.int": "torch.int32",
    "torch.long": "torch.int64",
}
#: Decorators that leave the result of a function as it is.
_TRANSPARENT = frozenset(
    f"torch.{name}"
    for name in (
        "no_grad", "inference_mode", "enable_grad", "compile", "compiler.disable",
        "compiler.allow_in_graph", "jit.script", "jit.ignore", "jit.unused", "_dynamo.disable",
        "_dynamo.allow_in_graph", "amp.custom_fwd", "amp.custom_bwd", "cuda.amp.custom_fwd",
        "cuda.amp.custom_bwd", "library.wrap_triton", "_library.capture_triton",
    )
)  # fmt: skip


class StandInError(ImportError):
    """Something was asked of a module that is not installed.

    Args:
        asked: What was asked: "torch.randn(...)".
    """

    def __init__(self, asked: str, name: str) -> None:
        super().__init__(f"needs {asked}, and {name} is not installed", name=name)


class _Refusing:
    """Raises for every operation that would need a value."""

    _asked: str

    def _refuse(self, *_: object) -> NoReturn:
        raise StandInError(self._asked, self._asked.partition(".")[0])

    __bool__ = __int__ = __float__ = __index__ = __complex__ = __len__ = __iter__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __contains__ = _refuse
    __add__ = __sub__ = __mul__ = __matmul__ = __truediv__ = __floordiv__ = __mod__ = _refuse
    __radd__ = __rsub__ = __rmul__ = __rmatmul__ = __rtruediv__ = __rfloordiv__ = _refuse
    __rmod__ = __pow__ = __rpow__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _refuse
    __and__ = __rand__ = __xor__ = __rxor__ = __neg__ = __pos__ = __abs__ = __invert__ = _refuse
    __round__ = __array__ = __setitem__ = __delitem__ = _refuse


class StandIn(_Refusing):
    """Stands for an object of a module that is not installed: a dtype, a function, a result.

    Args:
        asked: How the program reached it: "torch.float16", "torch.device(...)".
    """

    def __init__(self, asked: str, names: "Namespace") -> None:
        self._asked = asked
        self._names = names

    def __repr__(self) -> str:
        return f"<stand-in for {self._asked}>"

    def __str__(self) -> str:
        return self._asked  # Triton reads a dtype's name from it

    def __eq__(self, other: object) -> bool:
        # A name, such as a dtype's, is a different object from all others. A result may be
        # anything.
        return self is other or (self._asked.endswith((")", "]")) and self._refuse())

    def __hash__(self) -> int:
        return id(self)

    def __copy__(self, _memo: object = None) -> "StandIn":
        return self

    __deepcopy__ = __copy__  # Triton copies the globals of a kernel, and compares the copies

    def __getattr__(self, name: str) -> Any:
        if name in ("_asked", "_names"):
            raise AttributeError(name)  # of an object that is being unpickled
        return self._names.attribute(self._asked, name)

    def __getitem__(self, _key: object) -> "StandIn":
        return StandIn(f"{self._asked}[...]", self._names)

    def __call__(self, *args: Any, **kwargs: object) -> Any:
        """Return what stands for the result."""
        return self._names.call(self._asked, args, kwargs)

    def __or__(self, _other: object) -> "StandIn":  # in an annotation
        return self

    __ror__ = __or__

    def __instancecheck__(self, _instance: object) -> bool:
        return False  # without the module nothing is an instance of its classes

    __subclasscheck__ = __instancecheck__

    def __mro_entries__(self, _bases: object) -> tuple[type, ...]:
        return (self._names.class_named(self._asked),)

    def __enter__(self) -> "StandIn":
        return self

    def __exit__(self, *_: object) -> None:
        return None


class StandInType(ABCMeta):
    """Type of the classes that stand for those of a module that is not installed."""

    _asked: str
    _names: "Namespace"

    def __repr__(cls) -> str:
        return f"<stand-in for class {cls._asked}>"

    def __getattr__(cls, name: str) -> Any:
        return cls._names.attribute(cls._asked, name)

    def __getitem__(cls, _key: object) -> StandIn:
        return StandIn(f"{cls._asked}[...]", cls._names)

    def __call__(cls, *args: Any, **kwargs: object) -> Any:
        """Return what stands for an instance."""
        return cls._names.call(cls._asked, args, kwargs)

    def register(cls, *args: Any, **kwargs: Any) -> Any:
        """Return what the class's own method would, which is seldom that of ``ABCMeta``."""
        if len(args) == 1 and not kwargs and isinstance(args[0], type):
            return args[0]
        return cls._names.call(f"{cls._asked}.register", args, kwargs)


class StandInModule(ModuleType):
    """Stands for a module that is not installed."""

    #: Lower than any version a program asks for: it uses its oldest interface.
    __version__ = "0.0.0"

    def __init__(self, name: str, names: "Namespace") -> None:
        super().__init__(name, f"Stands for {name}, which is not installed.")
        self.__path__: list[str] = []  # importlib asks for it when a submodule is imported
        self._names = names

    def __repr__(self) -> str:
        return f"<stand-in for module {self.__name__}>"

    def __getattr__(self, name: str) -> Any:
        return self._names.attribute(self.__name__, name)


class Namespace:
    """The stand-ins that one program sees: each name stands for one object."""

    def __init__(self) -> None:
        self._objects: dict[str, Any] = {}

    def attribute(self, owner: str, name: str) -> Any:
        """Return what stands for an attribute of a stand-in.

        Raises:
            AttributeError: Python asks for a protocol that a stand-in does not have.
        """
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"{owner} is a stand-in and has no {name}")
        asked = f"{owner}.{name}"
        asked = _ALIASES.get(asked, asked)
        if (answer := described(asked)) is not None:
            return answer
        if asked in _ANSWERS:
            return _ANSWERS[asked]
        if name in _NOT_THERE or (name.startswith("is_") and name.endswith("_available")):
            return lambda *_args, **_kwargs: False
        if name.lstrip("_")[:1].isupper() and not name.isupper():
            return self.class_named(asked)
        return self._objects.setdefault(asked, StandIn(asked, self))

    def class_named(self, asked: str) -> type:
        """Return the class that stands for a class; an exception's may be caught."""
        key = f"class {asked}"
        if key not in self._objects:
            name = asked.rpartition(".")[2]
            bases = (Exception,) if name.endswith(("Error", "Exception", "Warning")) else ()
            members = {"_asked": asked, "_names": self}
            self._objects[key] = StandInType(name, bases, members)
        return self._objects[key]  # type: ignore[no-any-return]

    def call(self, asked: str, args: tuple[Any, ...], kwargs: dict[str, object]) -> Any:
        """Return what stands for the result of a call.

        A transparent decorator returns the function. Any other decorated function stands for a
        result, since nobody knows what the decorator makes of it.
        """
        name = asked.partition("(")[0]
        if name in _TRANSPARENT and len(args) == 1 and not kwargs and not _is_plain(args[0]):
            return args[0]
        if asked.endswith("(...)") and len(args) == 1 and isinstance(args[0], FunctionType):
            return StandIn(f"{asked}({args[0].__name__})", self)
        return StandIn(f"{asked.removesuffix('(...)')}(...)", self)


def _is_plain(value: object) -> bool:
    """Whether a decorator's argument is one of its options, and not what it decorates."""
    return value is None or isinstance(value, bool | int | float | str | StandIn)


def is_stand_in(value: object) -> bool:
    """Whether an object stands for one of a module that is not installed."""
    # Not isinstance(), which would ask a lazy proxy for the class of what it stands for.
    return issubclass(type(value), StandIn | StandInModule | StandInType)


def refuse_stand_in(value: object) -> None:
    """Raise ``StandInError`` for a stand-in where irlens needs the object itself."""
    if is_stand_in(value):
        asked = getattr(value, "_asked", None) or str(getattr(value, "__name__", value))
        raise StandInError(asked, asked.partition(".")[0])
