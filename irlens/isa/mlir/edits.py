"""Edits of a ttir's text: an attribute, an operand, a constant, a type, an operation's place."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from irlens.isa.mlir.global_memory import loaded_type
from irlens.isa.mlir.module import Module
from irlens.isa.mlir.operations import DIVISIBILITY, NUM_STAGES, POINTER_RANGE, Deed
from irlens.isa.mlir.tree import Operation
from irlens.isa.mlir.types import Pointer, Scalar, Tensor

_ARGUMENT = re.compile(
    r"(?P<head>%(?P<name>[\w$.-]+): (?:!?[\w.]+(?:<(?:[^<>]|<[^<>]*>)*>)?))"
    r"(?: \{(?P<attributes>[^{}]*)\})?(?=[ ,)])"
)
_CLOSING = re.compile(r"(?P<head> *\})(?: \{(?P<attributes>[^{}]*)\})?(?P<rest>(?: loc\(.*)?)")
_INTEGERS = frozenset(map(Scalar, ("i8", "i16", "i32", "i64")))
_DIVISIBLE_RESULT = "tt.divisibility = dense<16> : tensor<1xi32>"
#: The name of a value that an edit adds.
_OWN = "irlens_constant"
_CONVERSIONS = ("arith.extf", "arith.truncf")
_DOT = re.compile(
    r" *(?P<name>%\S+) = tt\.dot (?P<a>%[\w$.#-]+), (?P<b>%[\w$.#-]+), (?P<c>%[\w$.#-]+)"
    r"(?P<attributes>.*?) : (?P<left>\S+) \* (?P<right>\S+) -> (?P<result>tensor<[^<>]*>)"
    r"(?P<end>.*)"
)
_BOUNDS = re.compile(
    r"(?<= = )%\S+ to %\S+ step %[\w$.#-]+(?=(?:(?: iter_args| ).*?)?(?: : (?P<type>\w+))? \{$)"
)
_WHILE = re.compile(
    r"(?P<results> *%\S+ = )scf\.while \((?P<first>.*)\) : \(.*\) -> \(?(?P<types>[^()]*)\)? \{"
)
_TILE = re.compile(r"tensor<(\d+)x(\d+)x")
_VALUE = re.compile(r"%[\w$.#-]+")
_PRECISION = re.compile(r"(?<=inputPrecision = )\w+")


def with_divisible(module: Module, names: Collection[str]) -> str:
    """Return the text with arguments of the kernel that are known to be multiples of 16.

    Args:
        names: The arguments, without "%".
    """
    return _with_known(module, names, DIVISIBILITY, 16)


def with_range(module: Module, names: Collection[str]) -> str:
    """Return the text with pointers of the kernel that are known to be to less than 2 GB."""
    return _with_known(module, names, POINTER_RANGE, 32)


def _with_known(module: Module, names: Collection[str], attribute: str, value: int) -> str:
    """Return the text with an attribute of some arguments of the kernel that have none."""
    kernel = module.kernel
    if kernel is None:
        return module.text

    def edited(match: re.Match[str]) -> str:
        if match["name"] not in names or attribute in (match["attributes"] or ""):
            return match.group()
        attributes = _joined(match["attributes"], attribute, f"{attribute} = {value} : i32")
        return f"{match['head']} {{{attributes}}}"

    return _edited(module, kernel.span.line, lambda line: _ARGUMENT.sub(edited, line))


def _edited(module: Module, number: int, edit: Callable[[str], str]) -> str:
    """Return the text with one line edited, by its number from 1."""
    lines = module.text.split("\n")
    lines[number - 1] = edit(lines[number - 1])
    return "\n".join(lines)


def with_divisible_results(module: Module, operations: Collection[Operation]) -> str:
    """Return the text with scalar results known to be multiples of 16, as by ``tl.multiple_of``.

    Args:
        operations: Operations of one line; those that have attributes stay as they are.
    """
    return with_hints(module, [(each, _DIVISIBLE_RESULT) for each in operations])


def not_divisible(module: Module) -> list[str]:
    """Return the pointers and integers of the kernel not known to be multiples of 16."""
    kernel = module.kernel
    if kernel is None:
        return []
    return [
        each.name.removeprefix("%")
        for each in kernel.parameters
        if "tt.divisibility" not in each.attributes
        and (isinstance(each.type, Pointer) or each.type in _INTEGERS)
    ]


def with_stages(module: Module, loop: Operation, stages: int) -> str:
    """Return the text with a number of stages of a loop, in place of its own."""
    return _with_loop(module, loop, NUM_STAGES, f"{NUM_STAGES} = {stages} : i32")


def with_flag(module: Module, loop: Operation, flag: str) -> str:
    """Return the text with a flag of a loop, of ``operations``."""
    return _with_loop(module, loop, flag, flag)


def without_flag(module: Module, loop: Operation, flag: str) -> str:
    """Return the text without a flag of a loop."""
    return _with_loop(module, loop, flag, "")


def _with_loop(module: Module, loop: Operation, name: str, written: str) -> str:
    """Return the text with an attribute of a loop, whose region closes on a line of its own."""

    def edited(line: str) -> str:
        match = _CLOSING.fullmatch(line)
        if match is None:
            return line
        attributes = _joined(match["attributes"], name, written)
        return f"{match['head']}{f' {{{attributes}}}' if attributes else ''}{match['rest']}"

    return _edited(module, loop.span.end_line, edited)


def with_precision(module: Module, dot: Operation, precision: str) -> str:
    """Return the text with another precision of a dot's products, "tf32"."""

    def edited(line: str) -> str:
        if _PRECISION.search(line):
            return _PRECISION.sub(precision, line, count=1)
        return line.replace(" : ", f", inputPrecision = {precision} : ", 1)  # "ieee" is not printed

    return _edited(module, dot.span.line, edited)


def with_sources(module: Module, operation: Operation, made: Sequence[Operation]) -> str:
    """Return the text in which an operation reads what its first operands were converted from."""

    def edited(line: str) -> str:
        names, colon, kinds = line.partition(" : ")
        for each in made:
            names = re.sub(rf"{re.escape(each.results[0][0])}(?![\w$.-])", each.operands[0], names)
            kinds = kinds.replace(str(each.result_type), str(each.operand_type), 1)
        return f"{names}{colon}{kinds}"

    return _edited(module, operation.span.line, edited)


def with_halves(module: Module, dot: Operation) -> str:
    """Return the text in which a dot multiplies its operands as fp16."""
    lines = module.text.split("\n")
    match = _DOT.fullmatch(lines[dot.span.line - 1])
    if match is None:
        return module.text
    kinds = [match[each] for each in ("left", "right")]
    halves = [f"{each.rpartition('x')[0]}xf16>" for each in kinds]
    names = [f"%{_OWN}_{part}" for part in "ab"]
    lines[dot.span.line - 1] = "\n".join(
        [
            f"{name} = arith.truncf {match[part]} : {kind} to {half}{match['end']}"
            for name, part, kind, half in zip(names, "ab", kinds, halves, strict=True)
        ]
        + [
            f"{match['name']} = tt.dot {', '.join(names)}, {match['c']}{match['attributes']} :"
            f" {halves[0]} * {halves[1]} -> {match['result']}{match['end']}"
        ]
    )
    return "\n".join(lines)


def with_transposed(module: Module, dots: Iterable[Operation]) -> str:
    """Return the text with products computed from transposed operands, and transposed again."""
    lines = module.text.split("\n")
    for number, dot in enumerate(dots):
        match = _DOT.fullmatch(lines[dot.span.line - 1])
        if match is None:
            return module.text
        names = [f"%{_OWN}_{number}_{part}" for part in "bact"]
        kinds = [match[each] for each in ("right", "left", "result")]
        turned = [_TILE.sub(r"tensor<\2x\1x", each) for each in kinds]
        end = match["end"]
        order = "{order = array<i32: 1, 0>}"
        lines[dot.span.line - 1] = "\n".join(
            [
                f"{name} = tt.trans {match[part]} {order} : {kind} -> {other}{end}"
                for name, part, kind, other in zip(names, "bac", kinds, turned, strict=False)
            ]
            + [
                f"{names[3]} = tt.dot {', '.join(names[:3])}{match['attributes']} :"
                f" {turned[0]} * {turned[1]} -> {turned[2]}{end}",
                f"{match['name']} = tt.trans {names[3]} {order} : {turned[2]} -> {kinds[2]}{end}",
            ]
        )
    return "\n".join(lines)


def contiguity(address: Operation, elements: int, dimension: int = -1, multiple: int = 16) -> str:
    """Return the hint of ``tl.max_contiguous`` and ``tl.multiple_of`` for pointers or offsets.

    Args:
        address: The operation that computes them.
        elements: How many neighbours are contiguous.
        dimension: Along which; from the last one, -1, backwards.
        multiple: Of how many bytes the first pointer is a multiple, or the first offset.
    """
    hints = (("contiguity", elements), ("divisibility", multiple))
    return ", ".join(_hint(address, name, value, dimension) for name, value in hints)


def constancy(mask: Operation, elements: int) -> str:
    """Return the hint that a number of neighbours share a mask value."""
    return _hint(mask, "constancy", elements)


def _hint(operation: Operation, name: str, value: int, dimension: int = -1) -> str:
    """Return the hint that an attribute gives for one dimension of a result."""
    kind = operation.result_type
    rank = len(kind.shape) if isinstance(kind, Tensor) else 1
    values: list[int] | int = value
    if rank > 1:
        values = [1] * rank
        values[dimension] = value
    return f"tt.{name} = dense<{values}> : tensor<{rank}xi32>"


def with_hints(module: Module, hints: Iterable[tuple[Operation, str]]) -> str:
    """Return the text with hints for operations of one line; those with attributes stay."""
    lines = module.text.split("\n")
    for operation, hint in hints:
        at = operation.span.line - 1
        if "{" not in lines[at]:
            lines[at] = lines[at].replace(" : ", f" {{{hint}}} : ", 1)
    return "\n".join(lines)


def integer_of(operation: Operation) -> int | None:
    """Return the integer that an operation defines, for a tensor that of all elements."""
    if operation.does != "constant":
        return None
    return int(operation.literal) if re.fullmatch(r"-?\d+", operation.literal) else None


def with_constant(module: Module, name: str, value: int) -> str:
    """Return the text with a constant in place of an integer argument of the kernel."""
    kernel = module.kernel
    argument = (
        next((p for p in kernel.parameters if p.name == f"%{name}"), None) if kernel else None
    )
    if kernel is None or argument is None or argument.type not in _INTEGERS:
        return module.text
    lines = module.text.split("\n")
    first, last = kernel.span.line, kernel.span.end_line
    used = re.compile(rf"%{re.escape(name)}(?![\w$.-])")
    for at in range(first, last):
        lines[at] = used.sub(f"%{_OWN}_{name}", lines[at])
    lines.insert(first, f"    %{_OWN}_{name} = arith.constant {value} : {argument.type}")
    return "\n".join(lines)


def with_argument_as(module: Module, operations: Iterable[Operation], name: str, value: int) -> str:
    """Return the text with a constant where some operations read an integer argument.

    Args:
        operations: Operations of one line; others keep the argument.
    """
    changed = with_constant(module, name, value)
    lines = module.text.split("\n")
    if changed == module.text or module.kernel is None:
        return module.text
    first, edited = module.kernel.span.line, changed.split("\n")
    for operation in operations:
        if not operation.regions:
            lines[operation.span.line - 1] = edited[operation.span.line]
    return "\n".join([*lines[:first], edited[first], *lines[first:]])


def with_operand(module: Module, operation: Operation, number: int, value: int) -> str:
    """Return the text with a constant in place of one operand of an operation.

    Args:
        operation: An operation on one line, whose operands are integers.
        value: The constant, for a tensor that of all elements.
    """
    types = operation.operand_types
    kind = types[number] if number < len(types) else operation.result_type
    literal = f"dense<{value}>" if isinstance(kind, Tensor) else str(value)
    lines = module.text.split("\n")
    at = operation.span.line - 1
    head, equals, rest = lines[at].partition(" = ")
    found = list(_VALUE.finditer(rest))
    if not equals or number >= len(found):
        return module.text
    start, stop = found[number].span()
    lines[at] = f"{head} = {rest[:start]}%{_OWN}{rest[stop:]}"
    lines.insert(at, f"%{_OWN} = arith.constant {literal} : {kind}")
    return "\n".join(lines)


def can_be_counted(load: Operation) -> bool:
    """Whether a load of indices could be ``tl.arange``, or that of an index ``tl.program_id``."""
    kind = loaded_type(load)
    element = kind.element if isinstance(kind, Tensor) else kind
    return str(element) in ("i32", "i64") and (not isinstance(kind, Tensor) or len(kind.shape) == 1)


def with_counted(module: Module, loads: Collection[Operation]) -> str:
    """Return the text with consecutive indices in place of loads, see ``can_be_counted``."""
    lines = module.text.split("\n")
    for each in loads:
        kind, (result, _) = loaded_type(each), each.results[0]
        narrow = str(kind).replace("i64", "i32")
        is_wide, name = narrow != str(kind), f"{result}_{_OWN}"
        counted = f"tt.get_program_id x : {narrow}"
        if isinstance(kind, Tensor):
            counted = f"tt.make_range {{end = {kind.shape[0]} : i32, start = 0 : i32}} : {narrow}"
        lines[each.span.line - 1] = f"{name if is_wide else result} = {counted}"
        if is_wide:
            extended = f"{result} = arith.extsi {name} : {narrow} to {kind}"
            lines[each.span.line - 1] += f"\n{extended}"
    return "\n".join(lines)


def moved_before(module: Module, operations: Collection[Operation], other: Operation) -> str:
    """Return the text with operations of one line each before another operation."""
    return _with_moved(module.text.split("\n"), operations, other.span.line - 1)


def _with_moved(lines: list[str], operations: Collection[Operation], at: int) -> str:
    """Return lines of which those of some operations stand in front of another, in their order."""
    rows = [each.span.line - 1 for each in operations]
    moved = [lines[row] for row in rows]
    for row in rows:
        lines[row] = ""
    return "\n".join([*lines[:at], *moved, *lines[at:]])


def with_one_way(module: Module, branch: Operation) -> str:
    """Return the text in which an ``scf.if`` computes what it does if its condition holds.

    Args:
        branch: The operation, with the results that its regions yield.
    """
    *body, end = (module.operations[index] for index in branch.blocks[0].operations)
    lines = module.text.split("\n")
    kept = lines[body[0].span.line - 1 : end.span.line - 1] if body else []
    after = "\n".join(lines[branch.span.end_line :])
    for name, value in zip(branch.values, end.operands, strict=True):
        after = re.sub(rf"{re.escape(name)}(?![\w$.-])", value, after)
    return "\n".join([*lines[: branch.span.line - 1], *kept, after])


def used_at_once(
    module: Module, loop: Operation, operations: Sequence[Operation], carried: str
) -> str:
    """Return the text in which an iteration uses what it computes for the next one.

    Args:
        operations: What computes the value, on one line each, the value itself last.
        carried: The value of the iteration before, "%x_1".
    """
    lines = module.text.split("\n")
    rows = [each.span.line - 1 for each in operations]
    ((result, _),) = operations[-1].results
    used = re.compile(rf"{re.escape(carried)}(?![\w$.-])")
    for at in range(loop.span.line, loop.span.end_line):
        if at not in rows:
            lines[at] = used.sub(result, lines[at])
    return _with_moved(lines, operations, loop.span.line)


def without_mask(module: Module, load: Operation) -> str:
    """Return the text in which a load on one line has an address alone."""
    return _edited(
        module,
        load.span.line,
        lambda line: re.sub(r"(?<= = tt\.load )(%[\w$.#-]+)(?:, %[\w$.#-]+)+", r"\1", line),
    )


def run_once(module: Module, loops: Iterable[Operation]) -> str:
    """Return the text in which ``scf.for`` loops have one iteration, which the compiler inlines."""
    lines = module.text.split("\n")
    for loop in loops:
        bounds = _BOUNDS.search(lines[loop.span.line - 1])
        if bounds is None:
            return module.text
        first, one = (f"%{_OWN}_{loop.index}_{value}" for value in (0, 1))
        kind, line = bounds["type"] or "index", bounds.string
        opening = f"{line[: bounds.start()]}{first} to {one} step {one}{line[bounds.end() :]}"
        lines[loop.span.line - 1] = (
            f"{first} = arith.constant 0 : {kind}\n{one} = arith.constant 1 : {kind}\n{opening}"
        )
    return "\n".join(lines)


def as_for(module: Module, loop: Operation, stages: int) -> str:
    """Return the text with a counting ``scf.while`` as an ``scf.for`` with ``num_stages``.

    Args:
        loop: An ``scf.while`` whose condition is one comparison: "%i < %n".
    """
    lines, at, end = module.text.split("\n"), loop.span.line - 1, loop.span.end_line - 1
    head, closing = _WHILE.fullmatch(lines[at]), _CLOSING.fullmatch(lines[end])
    tests, body = ([module.operations[n] for n in each.operations] for each in loop.blocks)
    if head is None or closing is None or len(tests) != 2:
        return module.text
    test, carried = tests[0], [each.name for each in loop.blocks[1].arguments]
    names = [each.name for each in loop.blocks[0].arguments]
    counts = test.name == "arith.cmpi" and test.words[:1] == ("slt",) and test.operands[0] in names
    if not counts or list(tests[1].operands[1:]) != names:
        return module.text
    place = names.index(test.operands[0])
    step = next(
        (each for each in body if each.results[:1] == ((body[-1].operands[place], 1),)), None
    )
    if step is None or step.does != "add" or step.operands[0] != carried[place]:
        return module.text
    first = [each.partition(" = ")[2] for each in head["first"].split(", ")]
    given = ", ".join(f"{name} = {value}" for name, value in zip(carried, first, strict=True))
    opening = (
        f"{head['results']}scf.for %{_OWN} = {first[place]} to {test.operands[1]} step"
        f" {step.operands[1]} iter_args({given}) -> ({head['types']}) : {test.operand_types[0]} {{"
    )
    last = f"{closing['head']} {{{NUM_STAGES} = {stages} : i32}}{closing['rest']}"
    return "\n".join(
        [*lines[:at], opening, *lines[body[0].span.line - 1 : end], last, *lines[end + 1 :]]
    )


def with_yielded(module: Module, loop: Operation, values: Mapping[str, str]) -> str:
    """Return the text in which a loop's iterations yield other values for those that it carries.

    Args:
        loop: An operation with one region, which yields on one line.
        values: What to yield for each value that it carries, by the names in its body.
    """
    block = loop.blocks[0]
    end = module.operations[block.operations[-1]]
    carried = [each.name for each in block.arguments[-len(end.operands) :]]
    yielded = [values.get(name, value) for name, value in zip(carried, end.operands, strict=True)]

    def edited(line: str) -> str:
        return f"{line.partition('%')[0]}{', '.join(yielded)} :{line.partition(' :')[2]}"

    return _edited(module, end.span.line, edited)


def with_own_sum(module: Module, loop: Operation, dot: Operation, name: str) -> str:
    """Return the text in which a loop carries what a dot adds to what it carries, and stores none.

    Args:
        name: The carried value, in the loop's body.
    """
    lines = with_yielded(module, loop, {name: dot.results[0][0]}).split("\n")
    for each in module.own(loop):
        if each.does in ("store", "atomic"):
            lines[each.span.line - 1] = ""
    at = dot.span.line - 1
    total = re.escape(dot.operands[2])
    lines[at] = re.sub(rf"(?<=, ){total}(?=[,: ])", name, lines[at], count=1)
    return "\n".join(lines)


def with_single_sum(module: Module, loop: Operation, dot: Operation) -> str:
    """Return the text in which a loop carries in fp32 what a dot adds to, converted after it.

    Args:
        dot: It adds to a value that the loop carries, which becomes its sum.
    """
    block, narrow = loop.blocks[0], str(dot.result_type)
    end = module.operations[block.operations[-1]]
    names = [each.name for each in block.arguments[-len(end.operands) :]]
    place, wide = names.index(dot.operands[2]), re.sub(r"x[a-z]\w*>$", "xf32>", narrow)
    first, (name, count) = loop.operands[-len(names) :][place], loop.results[0]
    lines = module.text.split("\n")

    def retyped(line: str, before: str, after: str) -> str:
        head, mark, rest = line.rpartition(before)
        kinds, closing, rest = rest.partition(after)
        written = kinds.split(", ")
        written[place] = wide
        return f"{head}{mark}{', '.join(written)}{closing}{rest}"

    def narrowed(value: str, number: int, start: int, stop: int) -> str:
        own = f"%{_OWN}_narrowed_{number}"
        for at in range(start, stop):
            lines[at] = re.sub(rf"{re.escape(value)}(?![\w$.#-])", own, lines[at])
        return f"\n{own} = arith.truncf {value} : {wide} to {narrow}"

    opens, adds, ends = (each.span.line - 1 for each in (loop, dot, end))
    last = loop.span.end_line - 1
    lines[last] += narrowed(name if count == 1 else f"{name}#{place}", 0, last + 1, len(lines))
    # What else is computed of the sum in the loop is left over.
    before = narrowed(names[place], 1, opens + 1, adds) + narrowed(names[place], 1, adds + 1, ends)
    after = narrowed(dot.results[0][0], 2, adds + 1, ends)
    widened, initial = f"%{_OWN}_widened", rf"(?<=[( ]{re.escape(names[place])} = )\S+?(?=[,)])"
    lines[opens] = retyped(re.sub(initial, widened, lines[opens], count=1), " -> (", ")")
    converted = f"{widened} = arith.extf {first} : {narrow} to {wide}"
    lines[opens] = f"{converted}\n{lines[opens]}\n{before.splitlines()[1]}"
    lines[adds] = wide.join(lines[adds].rsplit(narrow, 1)) + after
    lines[ends] = retyped(lines[ends], " : ", " loc(")
    return "\n".join(lines)


def with_inlined(module: Module) -> str:
    """Return the text with what functions do in place of their calls from the kernel.

    It stays as it is if a function has several blocks: one that returns early.
    """
    functions = {
        word: each for each in module.named("tt.func") for word in each.words if word[0] == "@"
    }
    kernel, lines = module.kernel, module.text.split("\n")
    for number, call in enumerate(module.body(kernel) if kernel is not None else ()):
        function = functions.get(call.words[0]) if call.does == "call" else None
        if function is None or not function.blocks:
            continue
        body = [module.operations[n] for n in function.blocks[0].operations]
        if len(function.blocks) > 1 or body[-1].does != "return":
            return module.text
        row, arguments = call.span.line - 1, (each.name for each in function.parameters)
        # Calls before it have renamed its operands.
        given = _VALUE.findall(lines[row].partition(f"{call.words[0]}(")[2])
        names = dict(zip(arguments, given, strict=True))
        for each in module.body(function):
            names |= {name: f"%{_OWN}_{number}_{name[1:]}" for name, _ in each.results}
            names |= {
                each.name: f"%{_OWN}_{number}_{each.name[1:]}"
                for block in each.blocks
                for each in block.arguments
            }
        start, stop = body[0].span.line - 1, body[-1].span.line - 1
        lines[row] = _with_names("\n".join(lines[start:stop]), names)
        returned = [_with_names(each, names) for each in body[-1].operands]
        named = dict(zip(call.values, returned, strict=True))
        for at in range(row + 1, _scope_end(module, call)):
            lines[at] = _with_names(lines[at], named)
    return "\n".join(lines)


def _scope_end(module: Module, operation: Operation) -> int:
    """Return the last line of the region that an operation is in, where its results are known."""
    around = module.operations[operation.parent] if operation.parent is not None else operation
    ends = (module.operations[each.blocks[-1].operations[-1]] for each in around.regions)
    return next(
        (each.span.end_line for each in ends if each.index >= operation.index), around.span.end_line
    )


def _with_names(text: str, names: Mapping[str, str]) -> str:
    """Return a text with other names of values, those of several results included."""
    return re.sub(
        r"(%[\w$.-]+)(#\d+)?",
        lambda at: names.get(at[0]) or names.get(at[1], at[1]) + (at[2] or ""),
        text,
    )


def without(module: Module, *deeds: Deed) -> str:
    """Return the text without operations that do one of these, without results and on one line."""
    gone = {each.span.line for each in module.doing(*deeds)}
    lines = module.text.split("\n")
    return "\n".join(line for at, line in enumerate(lines, 1) if at not in gone)


def with_word(module: Module, operations: Iterable[Operation], known: str, other: str) -> str:
    """Return the text with another keyword in the first line of operations."""
    lines = module.text.split("\n")
    for each in operations:
        at = each.span.line - 1
        lines[at] = re.sub(rf"\b{known}\b", other, lines[at])
    return "\n".join(lines)


def with_type(module: Module, known: str, other: str) -> str:
    """Return the text with one element type in place of another, "f8E4M3FN"."""
    return re.sub(rf"(?<=[x<]){known}(?![A-Za-z0-9])", other, module.text)


def with_fp32(module: Module) -> str:
    """Return the text with fp32 in place of fp64, and no conversions between the two."""
    lines = module.text.split("\n")
    renamed = {}
    for each in module.operations:
        kinds = {str(kind.element if isinstance(kind, Tensor) else kind) for kind in each.types}
        if each.name in _CONVERSIONS and kinds == {"f32", "f64"}:
            lines[each.span.line - 1] = ""
            renamed[each.results[0][0]] = each.operands[0]
    text = re.sub(r"(?<![\w.$-])f64(?![\w.$-])|(?<=\dx)f64(?=[>,])", "f32", "\n".join(lines))
    return re.sub(r"%[\w$.-]+", lambda name: _renamed(name.group(), renamed), text)


def _renamed(name: str, renamed: Mapping[str, str]) -> str:
    while name in renamed:
        name = renamed[name]
    return name


def with_descriptors(
    module: Module, loads: Iterable[tuple[Operation, str, list[str]]], *, wrapped: bool
) -> str:
    """Return the text in which tiles are loaded through tensor descriptors, as TMA takes them.

    The tiles are at other places, on which nothing depends that the compiler decides.

    Args:
        loads: Each load of a tile, on one line, the pointer of its descriptor, "%a_ptr", and its
            place along each dimension: an i32, "%k"; empty for a constant.
        wrapped: Whether the type of a descriptor names a tensor, as up to Triton 3.6.
    """
    if module.kernel is None:
        return module.text
    extent, step, one, start = (f"%{_OWN}_{name}" for name in ("extent", "step", "one", "start"))
    lines = module.text.split("\n")
    added = [
        f"{extent} = arith.constant 65536 : i32",
        f"{step} = arith.constant 65536 : i64",
        f"{one} = arith.constant 1 : i64",
        f"{start} = arith.constant 0 : i32",
    ]
    for number, (load, pointer, places) in enumerate(loads):
        tile = loaded_type(load)
        if not isinstance(tile, Tensor):
            continue
        rank, name, block = len(tile.shape), f"%{_OWN}_{number}", str(tile)
        if not wrapped:
            block = block.removeprefix("tensor<").removesuffix(">")
        strides = ", ".join([step] * (rank - 1) + [one])
        added.append(
            f"{name} = tt.make_tensor_descriptor {pointer}, [{', '.join([extent] * rank)}],"
            f" [{strides}] : <{tile.element}>, <{block}>"
        )
        _, mark, location = lines[load.span.line - 1].partition(" loc(")
        lines[load.span.line - 1] = (
            f"{load.results[0][0]} = tt.descriptor_load {name}"
            f"[{', '.join(each or start for each in places)}] : !tt.tensordesc<{block}> -> {tile}"
            f"{mark}{location}"
        )
    first = module.kernel.span.line
    return "\n".join([*lines[:first], *added, *lines[first:]])


def _joined(attributes: str | None, name: str, written: str) -> str:
    """Return attributes with another one in place of that of a name; none if it is empty."""
    each_one = [each.strip() for each in (attributes or "").split(",")]
    kept = [each for each in each_one if each and each.split(" ")[0] != name]
    return ", ".join([*kept, *([written] if written else [])])
