"""Example values for a kernel's parameters, from how its source uses them.

Values agree with each other: a tensor has a dimension for each stride of it, strides are those of
its shape, and a number that bounds a dimension is its extent.
"""

import ast
import math
import re
import shlex
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

import msgspec

from irlens.compiler.calls.argument_values import Argument, Tensor, parse_value
from irlens.compiler.calls.dtypes import DTYPES
from irlens.compiler.calls.extents import Extents
from irlens.compiler.calls.pointers import Addresses, Pointer, called_name, index_of, names_in
from irlens.compiler.calls.program_ids import ProgramIds
from irlens.compiler.calls.strides import is_stride, strides_of, tensor_of_stride
from irlens.model import files
from irlens.model.several import only

_DESCRIPTOR_CALLS = re.compile(r"load|store|gather|scatter|atomic_\w+")
_POINTER_NAME = re.compile(r"ptr|pointer", re.IGNORECASE)
_FLOAT_NAME = re.compile(
    r"eps|scale|prob|alpha|beta|momentum|decay|theta|softcap|slope|smooth|temperature|drop"
    r"|(^|_)(lr|p|scaling)($|_)",
    re.IGNORECASE,
)
_COUNT_NAME = re.compile(r"(^|_)(n|num|rows?|cols?|columns|size|dim|len|numel)($|_)", re.IGNORECASE)
_NAME = re.compile(r"[^\W\d]\w*")
_TILE_NAME = re.compile(r"block|tile|chunk", re.IGNORECASE)
#: Constexprs that multiply program IDs and tiles.
_NO_STRIDE = re.compile(r"block|tile|chunk|group|split|stages|warps|^num_", re.IGNORECASE)
_FLAG_NAME = re.compile(r"^(is|has|use|even|with|enable|do|add)_|causal|divisible", re.IGNORECASE)
_HEAD = re.compile(
    r"(head|rot(ary)?|rope|nope|qk)_?(dim|size)|d_?state|d_?model|d_?head|^d$|_d$|^hd$|_dk$|_dv$",
    re.IGNORECASE,
)
_GROUP = re.compile(r"group", re.IGNORECASE)
_INDEX_NAME = re.compile(
    r"idx|ind(ex|ices|s)?(_|$)|(^|_)ids?(_|$)|label|target|token|offset|cu_?seq|seq_?len|lens?(_|$)"
    r"|lengths|block_table|slot|seed|lock|count|(^|_)pos(ition)?s?(_|$)",
    re.IGNORECASE,
)
_MASK_NAME = re.compile(r"mask", re.IGNORECASE)
_SCALE_NAME = re.compile(r"scale|amax|absmax|zero|(^|_)s(_ptr)?$", re.IGNORECASE)
_STATISTIC = re.compile(
    r"^(m|l|lse|mean|rstd|var|delta|loss)(_|$)|_(lse|mean|rstd|var|loss)(_|$)", re.IGNORECASE
)
#: What the source says of the type of products' operands.
_OPERANDS = (
    (re.compile(r"fp8|float8|e4m3", re.IGNORECASE), "fp8e4nv"),
    (re.compile(r"zeros\([^\n]*\btl\.int32|out_dtype=tl\.int32"), "int8"),
)
#: Types of what ``tl.dot_scaled`` multiplies; two fp4 are a byte, and so is a scale.
_FORMATS = {"e4m3": "fp8e4nv", "e5m2": "fp8e5", "bf16": "bf16", "fp16": "fp16"}
#: Extents of example tensors: of one that is all of the problem, of a dimension, of special ones.
_FLAT, _EXTENT, _HEAD_DIM, _HEADS, _BATCH, _GROUPS = 1 << 20, 1024, 64, 8, 2, 8
#: Extents of tiles of one, two and more dimensions: larger ones take minutes to compile.
_TILES = (_EXTENT, 64, 16)
#: What each program loops over, where a number says how much that is.
_SHARE = 16
#: Elements of the largest tensor and of the widest tile of an example.
_MOST, _WIDEST = 1 << 26, 1 << 14
#: Elements that longer dimensions are multiples of.
_ALIGNED = 16
_IGNORED = re.compile(r"^ignore", re.IGNORECASE)
#: Functions that say what holds of their arguments.
_HINTS = frozenset({"assume", "device_assert", "static_assert", "device_print", "static_print"})
#: Values of constexprs that are options of operations.
_OPTIONS = {
    "cache_modifier": ".cg",
    "eviction_policy": "evict_last",
    "padding_option": "zero",
    "input_precision": "tf32",
    "fp_downcast_rounding": "rtne",
    "sem": "relaxed",
    "scope": "gpu",
}
#: Options of ``tl.range`` that are on or off.
_FLAG_OPTIONS = frozenset({"flatten", "warp_specialize", "disallow_acc_multi_buffer"})
#: Most CTAs of a grid in y and in z on NVIDIA GPUs (CUDA C++ Programming Guide).
_MOST_IN_Y = 65_535
_ID_AFFIX = re.compile(r"^(pid|i|offs?|cur|start|program)_|_(id|idx|index)$", re.IGNORECASE)
#: SMs of an H100, the default target.
_SMS = 132
#: Numbers by the parameter's name.
_NUMBERS = (
    (_HEAD, _HEAD_DIM),
    (re.compile(r"^(z|b|bs|bsz)$|batch", re.IGNORECASE), _BATCH),
    (re.compile(r"^h[qkv]?$|heads?$|^n_?heads?", re.IGNORECASE), _HEADS),
    (re.compile(r"(^|_)n?bits$", re.IGNORECASE), 4),
    (re.compile(r"^group_?size$", re.IGNORECASE), 128),
    (re.compile(r"_per_(program|block|cta|prog|pid)", re.IGNORECASE), 16),
    (_GROUP, _GROUPS),
    (_IGNORED, -100),
    (re.compile(r"seed|step", re.IGNORECASE), 1),
)
_CONSTEXPRS = (
    (_GROUP, _GROUPS),
    (_IGNORED, -100),
    *_NUMBERS[1:3],
    (
        re.compile(
            r"^(m|n|k|v|rows?|cols?|hidden)$|n_?(ctx|cols|rows|elements)|size|dim|seq", re.I
        ),
        _EXTENT,
    ),
    (re.compile(r"stages?$", re.IGNORECASE), 3),
    (re.compile(r"split", re.IGNORECASE), 4),
    (re.compile(r"(^|_)n(um)?_?sms?$", re.IGNORECASE), _SMS),
    (re.compile(r"^(num|n)_", re.IGNORECASE), 4),
)


class Uses(msgspec.Struct):
    """How a kernel's source uses names.

    Attributes:
        assigned: The first expression assigned to each variable, of a loop's the step.
        blocks: Index expressions of each descriptor's first load or store.
        ranges: Names in the extents of tiles.
        conditions: Names that are conditions by themselves.
        texts: A text that each name is compared with, or that the option that it is may be.
        numbers: An integer, or a name of the module, that each name may equal.
        dtypes: Names that values are converted to.
        unrolled: Names that are the iterations of an unrolled loop.
        integers: Names in whole divisions and ranges.
    """

    assigned: dict[str, ast.expr] = {}
    blocks: dict[str, list[ast.expr]] = {}
    ranges: set[str] = set()
    conditions: set[str] = set()
    texts: dict[str, str] = {}
    numbers: dict[str, int | str] = {}
    dtypes: set[str] = set()
    unrolled: set[str] = set()
    integers: set[str] = set()


def parse_source(source: str) -> ast.AST:
    """Return the syntax tree of a function's source, an empty one of invalid source."""
    try:
        return ast.parse(textwrap.dedent(source))
    except files.PARSE_ERRORS:
        return ast.Module(body=[], type_ignores=[])


def find_uses(tree: ast.AST) -> Uses:
    """Return how a function's source uses its names."""
    uses = Uses()
    nodes = list(ast.walk(tree))
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name), *_], value=value):
                uses.assigned.setdefault(name, value)
            case ast.For(target=ast.Name(id=name), iter=ast.Call(args=[_, _, step])):
                uses.assigned.setdefault(name, step)
            case ast.BinOp(op=ast.FloorDiv() | ast.Mod()):
                uses.integers |= names_in(node)
            case ast.Call(args=parts) if called_name(node) in ("range", "cdiv", "static_range"):
                uses.integers |= names_in(*parts)
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            _note_call(uses, node, node.func)
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            uses.conditions |= {each.id for each in _terms(node.test)}
        elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Name):
            _note_comparison(uses, node.left.id, node.ops[0], node.comparators[0])
    return uses


def block_extents(tree: ast.AST, constexprs: Sequence[str]) -> dict[str, list[str | None]]:
    """Return the constexpr that each extent of a descriptor's block is; ``None`` if in doubt."""
    uses = find_uses(tree)
    return {
        name: [_extent(index, uses, constexprs) for index in indices]
        for name, indices in uses.blocks.items()
    }


def example_options(
    missing: Sequence[str],
    runtime: Sequence[str],
    constexprs: Sequence[str],
    source: str,
    grid: Sequence[int | str] = (),
    constant: Callable[[str], int | None] = lambda _: None,
    given: Mapping[str, Argument] = MappingProxyType({}),
) -> list[str]:
    """Return options that set parameters, ``--arg NAME=VALUE`` or ``--set NAME=VALUE``.

    ``constant`` returns the integer that a name of the function's module has, if it has one.
    Strides that follow from the example's tensors are left out, not those of tensors that are
    given. The last is the ``--grid``, if it is given, or if the source tells which one covers the
    tensors.
    """
    example = _Example(parse_source(source), runtime, constexprs, source, constant)
    args, derived = example.arguments(given, missing), set(example.derived)
    options = []
    for name in missing:
        if name in constexprs:
            options.append(f"--set {shlex.quote(f'{name}={example.constexpr(name)}')}")
        elif name not in derived:
            options.append(f"--arg {shlex.quote(f'{name}={args[name]}')}")
    used = {name for extent in grid for name in _NAME.findall(str(extent))}
    is_given = bool(grid) and not example.tensors & used
    extents = [*map(str, grid)] if is_given else example.programs.extents(example.dimensions)
    too_many = any(_is_integer(each) and int(each) > _MOST_IN_Y for each in extents[1:])
    told = ",".join(extents) if all(extents) and not too_many else ""
    return [*options, *([f"--grid {shlex.quote(told)}"] if told else [])]


class _Example:
    """Example values of one kernel.

    Attributes:
        derived: Parameters that are strides of the tensors.
        dimensions: The extents of each tensor's dimensions by their stride's name.
        programs: What the source does with its program IDs.
    """

    def __init__(
        self,
        tree: ast.AST,
        runtime: Sequence[str],
        constexprs: Sequence[str],
        source: str,
        constant: Callable[[str], int | None],
    ) -> None:
        uses = self._uses = find_uses(tree)
        self._constant = constant
        self._strides: dict[str, int] = {}
        self.programs = ProgramIds(tree, constexprs)
        self._runtime = runtime
        self._constexprs = constexprs
        # A constexpr that is no tile may be a stride, as K of fp8 products.
        sizes = {each for each in constexprs if each not in uses.ranges}
        sizes = {each for each in sizes if not _NO_STRIDE.search(each)}
        self._pointers = Addresses(tree, set(runtime), sizes, constexprs).pointers
        for name in runtime:
            if _POINTER_NAME.search(name) and not is_stride(name):
                self._pointers.setdefault(name, Pointer(contiguous=True))
        for name, pointer in self._pointers.items():
            own = [each for each in runtime if _stride_of(each, name, self._pointers)]
            if set(pointer.strides) <= set(own):  # strides are passed in the order of dimensions
                is_all = not pointer.contiguous  # a descriptor takes those that no address needs
                pointer.strides = [each for each in own if is_all or each in pointer.strides]
        for name, extents in block_extents(tree, constexprs).items():
            self._pointers.pop(name, None)
            uses.ranges |= {each for each in extents if each is not None}
        self._square = _square_extents(tree, uses, constexprs)
        self._has_products = "tl.dot" in source
        self._operand = next((each for is_in, each in _OPERANDS if is_in.search(source)), "fp16")
        self._compared = _compared_names(tree)
        self._addresses = _address_lists(tree)
        rows = (each for each in self._pointers.values() if each.strides)
        self._is_flat = not any(rows) and bool(self._pointers or not uses.blocks)
        tiles = {each for each in constexprs if each in uses.ranges or _TILE_NAME.search(each)}
        strides = {each for pointer in self._pointers.values() for each in pointer.strides}
        numbers = set(runtime) - self._pointers.keys() - (strides - self._compared)
        named = {name: self._number(name) for name in numbers}
        sizes = {each for each in constexprs if each not in tiles and not is_stride(each)}
        named |= {name: self.constexpr(name) for name in sizes}
        names = {name: int(value) for name, value in named.items() if _is_integer(value)}
        self._extents = Extents(tree, names, tiles, _programs)
        chosen = {name: self.constexpr(name) for name in tiles}
        names |= {name: int(value) for name, value in chosen.items() if _is_integer(value)}
        self._names, self._extents = names, Extents(tree, names, tiles, _programs)
        self.derived: list[str] = []
        self.dimensions: list[dict[str, int]] = []

    @property
    def tensors(self) -> set[str]:
        """Names of the tensor parameters."""
        return {*self._pointers, *self._uses.blocks}

    def arguments(self, given: Mapping[str, Argument], missing: Collection[str]) -> dict[str, str]:
        """Return the value of each run-time parameter, with the shapes of given tensors."""
        values: dict[str, str] = {}
        tensors: dict[str, Tensor] = {}
        strides = self._strides
        shapes = {name: self._shape(name, each) for name, each in self._pointers.items()}
        held = {name: each for name, each in given.items() if isinstance(each, Tensor)}
        shapes |= {name: each.shape for name, each in held.items() if name in shapes}
        for name, pointer in self._pointers.items():
            for dimension, stride in enumerate(pointer.strides[: len(shapes[name])]):
                strides.setdefault(stride, math.prod(shapes[name][dimension + 1 :]))
        for name, pointer in self._pointers.items():
            shape = shapes[name] if name in held else self._strided(shapes[name], pointer)
            tensors[name] = Tensor(DTYPES[self._dtype(name, pointer)], shape)
            self.dimensions.append(dict(zip(pointer.strides, shape, strict=False)))
        values |= {name: str(each).replace(" ", "") for name, each in tensors.items()}
        follow = strides_of(self._runtime, tensors)
        for name, told in strides_of(self._constexprs, tensors).items():
            strides.setdefault(name, told.value)
        for name in self._runtime:
            if name in values:
                continue
            if name in self._uses.blocks:
                values[name] = self._descriptor(name)
            elif name in strides and name not in self._names:
                values[name] = str(strides[name])
            else:
                values[name] = self._number(name)
            fits = follow.get(name)
            if fits and fits.tensor in missing and str(fits.value) == values[name]:
                self.derived.append(name)
        return values

    def _shape(self, name: str, pointer: Pointer) -> tuple[int, ...]:
        named = [each for each in self._runtime if _stride_of(each, name, self._pointers)]
        default = self._default_shape(pointer, len(named))
        if len(named) == len(default):
            told = zip(named, default, strict=True)
            extents = tuple(self._named_extent(stride) or extent for stride, extent in told)
            default = extents if 0 < math.prod(extents) <= _MOST else default
        shape = list(default)
        strides = [*pointer.strides, *[""] * len(shape)][: len(shape)]
        for at, stride in reversed([*enumerate(strides)]):
            is_advanced = stride in pointer.advanced or (
                at == len(shape) - 1 and "" in pointer.advanced
            )
            reached = self._reached(pointer, stride, is_advanced)
            if is_advanced:  # a loop goes on from there
                reached = reached and max(reached, shape[at])
            shape[at] = max(reached or 1, _FLAT) if self._is_flat else reached or shape[at]
            # What an outer dimension advances by is all of the inner ones: K of ``rows * K``.
            if at and (row := self._names.get(strides[at - 1], 0)):
                shape[at] = max(reached or 1, row // math.prod(shape[at + 1 :]))
        is_held = 0 < math.prod(shape) <= _MOST
        return tuple(shape) if is_held else default

    def _named_extent(self, stride: str) -> int | None:
        """Return the extent of the dimension that a stride is named after: ``stride_x_seqlen``."""
        told = tensor_of_stride(stride, self._pointers)
        if told is None or len(told[1]) < 2:  # "b" may be a batch, or rows of ``b_ptr``
            return None
        sizes = {name.lower(): value for name, value in self._names.items()}
        words = (told[1], *(f"{number}{told[1]}s" for number in ("n", "n_", "num_")))
        return next(filter(None, map(sizes.get, words)), None) or _programs(told[1])

    def _strided(self, shape: tuple[int, ...], pointer: Pointer) -> tuple[int, ...]:
        """Return a shape with rows as long as a stride of it that is that of another tensor."""
        extents = list(shape)
        for at, stride in enumerate(pointer.strides[: len(shape) - 1]):
            inner = math.prod(extents[at + 2 :])
            extents[at + 1] = max(extents[at + 1], -(-self._strides.get(stride, 0) // inner))
        return tuple(extents) if math.prod(extents) <= _MOST else shape

    def _reached(self, pointer: Pointer, stride: str, is_advanced: bool) -> int | None:
        """Return the extent that accesses need in a dimension; ``None`` if it is unknown.

        Where a loop advances the address, rows are whole: ``rows * length`` is the first of each.
        """
        most = 0
        for terms in pointer.terms:
            indices = [index_of(each, stride) for each in terms.get(stride, ())]
            found = [self._extents.of(each) for each in indices]
            if None in found:
                return None
            last = sum(each - 1 for each in found if each)
            if is_advanced:
                last += max((self._row(each) for each in indices), default=1) - 1
            most = max(most, last + 1 if found else 0)
        # A row that begins anywhere is an odd example: 2,047 elements of two indices of 1,024.
        return most if most <= _ALIGNED else -(-most // _ALIGNED) * _ALIGNED

    def _row(self, index: ast.expr) -> int:
        """Return the factor of an index that is the length of rows, 1 where there is none."""
        match index:
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self._extents.value(right) or self._extents.value(left) or 1
        return 1

    def _default_shape(self, pointer: Pointer, named: int) -> tuple[int, ...]:
        rank = max(len(pointer.strides) + pointer.contiguous, named, 1)
        if rank == 1:
            return (_FLAT if self._is_flat else _EXTENT,)
        last = _EXTENT
        if rank > 2 and any(_HEAD.search(each) for each in (*self._constexprs, *self._runtime)):
            last = _HEAD_DIM
        leading = (_BATCH, _HEADS) if rank > 3 else (_HEADS,)
        return (*leading[: rank - 2], *[_EXTENT] * (rank - 1 - len(leading[: rank - 2])), last)

    def _dtype(self, name: str, pointer: Pointer) -> str:
        if name in self._addresses:
            return "int64"
        if pointer.locked or (pointer.names_data and not pointer.stored - {""}):
            return "int32"
        stored = {each for each in pointer.stored if each in DTYPES}
        if stored:
            return DTYPES[min(stored)].name
        if _INDEX_NAME.search(name) or (pointer.packed and not _MASK_NAME.search(name)):
            return "int32"
        if _MASK_NAME.search(name):
            return "int8"
        if pointer.format:
            return _FORMATS.get(pointer.format, "uint8")
        if pointer.multiplied and not _SCALE_NAME.search(name):
            return self._operand
        if _STATISTIC.search(name) or _SCALE_NAME.search(name):
            return "fp32"
        widens = any(each.widened for each in self._pointers.values())
        return "fp16" if widens or self._has_products else "fp32"

    def _number(self, name: str) -> str:
        is_integer = name in self._uses.integers or _COUNT_NAME.search(name)
        if _FLOAT_NAME.search(name) and not is_integer:
            return "0.000001" if "eps" in name.lower() else "0.5"
        if any(name == number for number, _ in self.programs.shares.values()):
            return str(_SHARE)
        if name in self.programs.strides.values():
            return str(_SMS)
        for pattern, value in _NUMBERS:
            if pattern.search(name):
                return str(value)
        return str(_FLAT if self._is_flat and name in self._compared else _EXTENT)

    def _descriptor(self, name: str) -> str:
        indices = self._uses.blocks[name]
        extents = [_extent(index, self._uses, self._constexprs) for index in indices]
        if not extents or None in extents:
            return "DTYPE[SHAPE]:block[EXTENTS]"
        shape = ",".join(str(_EXTENT) for _ in extents)
        return f"fp16[{shape}]:block[{','.join(map(str, extents))}]"

    def constexpr(self, name: str) -> str:
        """Return the value of a constexpr."""
        uses = self._uses
        if is_stride(name):
            return str(self._strides.get(name, 1))
        if name in uses.texts:
            told = uses.texts[name]
            return told if parse_value(told) == told else f"'{told}'"  # "none" is no keyword here
        if name in uses.dtypes:
            return "fp16"
        if name in self.programs.strides.values():
            return str(_SMS)
        if name in uses.unrolled:  # it takes minutes to compile many iterations
            return "4"
        if _HEAD.search(name) and not _FLAG_NAME.search(name):  # HAS_D
            return str(_HEAD_DIM)
        if name in uses.ranges or _TILE_NAME.search(name):
            return str(self._tile(name))
        if name in uses.conditions or _FLAG_NAME.search(name):
            return "true"
        mode = uses.numbers.get(name)
        if _FLOAT_NAME.search(name) and mode is None:
            return "0.000001" if "eps" in name.lower() else "0.5"
        found = next((value for pattern, value in _CONSTEXPRS if pattern.search(name)), None)
        if found is None and mode is not None:
            found = self._constant(mode) if isinstance(mode, str) else int(mode)
        return str(8 if found is None else found)

    def _tile(self, name: str) -> int:
        tiles = [each for each in self._constexprs if each in self._uses.ranges]
        tiles += self._square & set(tiles)
        usual = _TILES[min(len(tiles), len(_TILES)) - 1] if tiles else _EXTENT
        usual, least = (64, 16) if self._has_products else (usual, 1)
        most, covers = self._extents.tile(name) or (usual, False)
        is_whole = covers and most <= (_WIDEST if len(tiles) == 1 else 2 * _HEAD_DIM)
        return max(most if is_whole else min(usual, most), least)


def _programs(name: str) -> int | None:
    """Return the number of programs that a variable has the ID of, if its name says it."""
    name = _ID_AFFIX.sub("", name)
    return next((value for pattern, value in _NUMBERS[1:3] if pattern.search(name)), None)


def _is_integer(value: str) -> bool:
    return value.removeprefix("-").isdecimal()


def _stride_of(name: str, pointer: str, pointers: Iterable[str]) -> bool:
    """Whether a parameter's name says that it is a stride of a pointer."""
    found = tensor_of_stride(name, pointers) if name not in pointers else None
    return found is not None and found[0] == pointer


def _compared_names(tree: ast.AST) -> set[str]:
    """Return names that bound something: in comparisons, ranges, divisions and calls."""
    found: set[str] = set()
    hints = (each for each in ast.walk(tree) if called_name(each) in _HINTS)
    # ``tl.assume(stride_am > 0)`` makes no extent of a stride.
    hinted = {each for call in hints for each in ast.walk(call)}
    for node in ast.walk(tree):
        parts: list[ast.expr] = []
        if node in hinted:
            continue
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.Call):
            parts = (
                []
                if isinstance(node.func, ast.Attribute) and node.func.attr in ("load", "cast")
                else node.args
            )
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Mod):
            parts = [node.right]
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
            factors = [node.value.left, node.value.right]  # "size = channels * height"
            parts = factors if all(isinstance(each, ast.Name) for each in factors) else []
        found |= {each.id for each in parts if isinstance(each, ast.Name)}
    return found


def _address_lists(tree: ast.AST) -> set[str]:
    """Return names in the address of a load whose value is cast to a pointer."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Call(func=ast.Attribute(attr="load"), args=[address, *_]), attr="to"
                ),
                args=[ast.Call(func=ast.Attribute(attr="pointer_type")), *_],
            ):
                found |= names_in(address)
    return found


def _note_call(uses: Uses, call: ast.Call, function: ast.Attribute) -> None:
    """Note what a method or a function of ``tl`` does with its arguments."""
    owner = function.value.id if isinstance(function.value, ast.Name) else ""
    first = call.args[0] if call.args else None
    if owner == "tl" and first is not None:
        if function.attr in ("arange", "zeros", "full"):
            extents = call.args if function.attr == "arange" else [first]
            uses.ranges |= names_in(*extents)
        elif function.attr in ("make_block_ptr", "make_tensor_descriptor"):
            blocks = [*call.args[4:5], *(e.value for e in call.keywords if e.arg == "block_shape")]
            uses.ranges |= names_in(*blocks)
        elif function.attr == "static_range":
            uses.unrolled |= {each.id for each in call.args if isinstance(each, ast.Name)}
    elif _DESCRIPTOR_CALLS.fullmatch(function.attr) and isinstance(first, ast.List | ast.Tuple):
        uses.blocks.setdefault(owner, first.elts)
    for each in call.keywords:
        if each.arg in _OPTIONS and isinstance(each.value, ast.Name):
            uses.texts.setdefault(each.value.id, _OPTIONS[each.arg])
    flags = {each.value for each in call.keywords if each.arg in _FLAG_OPTIONS}
    uses.conditions |= names_in(*flags)
    if function.attr == "to" and isinstance(first, ast.Name):
        uses.dtypes.add(first.id)
    uses.dtypes |= {
        each.value.id
        for each in call.keywords
        if each.arg == "dtype" and isinstance(each.value, ast.Name)
    }


def _note_comparison(uses: Uses, name: str, operator: ast.cmpop, other: ast.expr) -> None:
    match operator, other:
        case _, ast.Constant(value=str(text)):
            uses.texts.setdefault(name, text)
        case ast.Eq(), ast.Constant(value=int(number)) | ast.Name(id=number):
            uses.numbers.setdefault(name, number)


def _terms(test: ast.expr) -> Iterator[ast.Name]:
    """Yield the names of a condition that stand alone: ``A`` and ``B`` of ``A and not B``."""
    if isinstance(test, ast.Name):
        yield test
    elif isinstance(test, ast.UnaryOp):
        yield from _terms(test.operand)
    elif isinstance(test, ast.BoolOp):
        for each in test.values:
            yield from _terms(each)


def _extent(index: ast.expr, uses: Uses, constexprs: Sequence[str], depth: int = 4) -> str | None:
    """Return the only constexpr in an index, which is the block's extent; ``None`` if in doubt."""
    names = names_in(index)
    found = names & set(constexprs)
    if not found and depth:
        values = (uses.assigned[name] for name in names if name in uses.assigned)
        found = {e for v in values if (e := _extent(v, uses, constexprs, depth - 1)) is not None}
    return only(found)


def _square_extents(tree: ast.AST, uses: Uses, constexprs: Sequence[str]) -> set[str]:
    """Return the constexprs that are the extents of rows and of columns of tiles."""
    sides: dict[str | None, set[bool]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
            first = node.slice.elts[0]
            is_row = isinstance(first, ast.Constant) and first.value is None
            sides.setdefault(_extent(node.value, uses, constexprs), set()).add(is_row)
    return {name for name, found in sides.items() if name is not None and len(found) == 2}
