"""Changes against products that are slower than the matrix cores allow."""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from irlens import gpus
from irlens.analyze.address_slice import computed_beside, computed_from
from irlens.analyze.counterfactuals.change import (
    Change,
    Symptom,
    larger_tile,
    more_registers,
    more_warps,
    pointer_of,
    relieving,
    stages_of,
)
from irlens.analyze.counterfactuals.launches import smaller_tiles
from irlens.analyze.mlir_loops import carried
from irlens.isa.mlir import Module, Operation, edits, parse
from irlens.isa.mlir.operations import IMPRECISE, Deed
from irlens.isa.mlir.products import widened

DOTS: tuple[Deed, ...] = ("multiply matrices", "multiply scaled matrices")
#: How types of operands are written for an argument.
_WRITTEN = {"f16": "fp16", "bf16": "bf16", "f32": "fp32", "f8E5M2": "fp8e5", "f8E4M3FN": "fp8e4nv"}
#: AMD's option for the rows and columns of matrix instructions; 0 leaves them to the compiler.
_SIZE = "matrix_instr_nonkdim"
#: Stages to ask for where loads are not pipelined.
_STAGES = 3
#: Columns of the smallest product of Hopper and Blackwell.
_COLUMNS = 8
#: Rows of the smallest asynchronous product of Hopper, and of tcgen05 on Blackwell.
_ROWS = 64
#: Elements of K that no tile has.
_NO_PARTS = 1 << 30
#: Operands of a product: two factors and what it adds to; a scaled one has scales behind factors.
_WITHOUT_SCALES = 3
#: Dimensions of a matrix; one with more is taken apart or joined.
_MATRIX = 2
#: Formats of 8 bits, and those of the same size that CDNA 3 takes, and it alone.
_TO_FNUZ = [("f8E4M3FN", "f8E4M3FNUZ"), ("f8E5M2", "f8E5M2FNUZ")]


def summed_dimension(module: Module, load: Operation) -> int:
    """Return the dimension of a loaded tile over which a dot of its loop sums: -1, or -2 of B.

    Of a tile that is transposed before it is the other one.
    """
    beside = module.operations[load.parent] if load.parent is not None else None
    dots = [each for each in module.body(beside) if each.does in DOTS] if beside is not None else []
    right = turned = False
    for each in dots:
        before = 2 if len(each.operands) > _WITHOUT_SCALES + 1 else 1  # the left one and its scale
        left, both = (computed_from(module, each, count) for count in (before, before + 1))
        right |= load in both and load not in left
        swaps = (t for t in both if t.does == "transpose" and len(t.result_type.shape) == _MATRIX)
        turns = [t for t in swaps if load in computed_from(module, t)]
        turned |= len(turns) % 2 == 1
    return -2 if right != turned else -1


def of_dot(symptom: Symptom) -> Iterator[Change]:
    """Yield what the tensor cores take in place of a dot that does not use them."""
    dot, module, kind = symptom.operation("multiply matrices"), symptom.module, symptom.blame.kind
    if dot is None:
        return
    element = str(dot.operand_types[0].element)
    if kind == "target":
        yield Change("compiled for sm_80, whose tensor cores Triton uses", {"target": "sm_80"})
    elif kind == "precision":
        text = edits.with_precision(module, dot, "tf32")
        yield Change('input_precision="tf32" for the dot', ttir=text)
    elif kind == "tile":
        yield from larger_tile(symptom, dot, 16)
    elif element in ("f32", "f64"):
        text = edits.with_halves(module, dot)
        words = f"fp16 operands in place of {element.replace('f', 'fp')}"
        if element == "f64":
            single = parse(edits.with_fp32(module), stage=module.stage)
            text = edits.with_halves(single, single.operations[dot.index])
            words += ", and fp32 for the rest"
        yield Change(words, ttir=text)
    elif symptom.is_amd:
        yield from _of_other_formats(module)


def of_padding(symptom: Symptom) -> Iterator[Change]:
    """Yield the compiler's own choice of an instruction, or a tile as large as the instruction."""
    dot, size = symptom.operation(*DOTS), (symptom.config.options or {}).get(_SIZE)
    if size:
        cause = f"{_SIZE}={size} asks for instructions that large"
        yield Change(f"{_SIZE}=0 in place of {size}", {_SIZE: "0"}, cause=cause)
    if dot is not None:
        yield from larger_tile(symptom, dot, _ROWS)


def of_converted(symptom: Symptom) -> Iterator[Change]:
    """Yield operands of a type that the matrix cores multiply, or a tile that they take."""
    dot, module = symptom.operation(*DOTS), symptom.module
    if dot is None:
        return
    rates = gpus.by_arch(symptom.target).rates if symptom.target else None
    if dot.does == "multiply scaled matrices" and rates is not None and "fp4" not in rates.tensor:
        newer = "gfx950" if symptom.is_amd else "sm_120"
        yield Change(
            f"compiled for {newer}, which multiplies scaled blocks",
            {"target": newer},
            cause=f"Triton has no scaled products on {symptom.target}: it scales the factors first",
        )
        return
    warps, kind = symptom.config.num_warps, symptom.blame.kind
    if kind == "widened":
        text = edits.with_sources(module, dot, widened(module, dot))
        yield Change("the operands multiplied before they are widened", ttir=text)
    elif kind == "absent":
        newer = "gfx950" if symptom.is_amd else "sm_89"
        yield Change(f"compiled for {newer}, which multiplies 8-bit floats", {"target": newer})
    elif symptom.is_amd:
        yield from _of_other_formats(module)
    if symptom.is_amd or kind in ("absent", "widened"):
        return
    if warps is not None and (warps < 4 or kind == "warps"):
        yield Change("num_warps=4, one warp group", {"num_warps": "4"})
    if kind == "columns":
        yield from larger_tile(symptom, dot, _COLUMNS, blamed=-1)
    elif kind not in ("warps", "batch", "type"):
        yield from larger_tile(symptom, dot, _ROWS, blamed=-2)


def _of_other_formats(module: Module) -> Iterator[Change]:
    """Yield all 8-bit floats in the formats that the matrix cores take."""
    for pairs in (_TO_FNUZ, [pair[::-1] for pair in _TO_FNUZ]):
        text, found = module, []
        for known, other in pairs:
            edited = edits.with_type(text, known, other)
            if edited != text.text:
                found.append((other, known))
                text = parse(edited, stage=module.stage)
        if found:
            others, known = (" and ".join(each) for each in zip(*found, strict=True))
            words = f"operands of {others} in place of {known}"
            yield Change(words, ttir=text.text, renamed=tuple(found))


def of_right_operand(symptom: Symptom) -> Iterator[Change]:
    """Yield a product and the one that makes its right operand transposed: it is the left then."""
    dot, module = symptom.operation("multiply matrices"), symptom.module
    if dot is None:
        return
    made = [each for each in computed_beside(module, dot, 1) if each.does == dot.does]
    if made:
        text = edits.with_transposed(module, [*made, dot])
        yield Change("both products transposed, so that the tile is the left operand", ttir=text)


def _alone(symptom: Symptom) -> Iterator[Change]:
    """Yield a product that adds to the sum which its loop carries, and of which nothing else is."""
    dot, module = symptom.operation("multiply matrices"), symptom.module
    loop = symptom.enclosing(dot, "for")
    if dot is None or loop is None or dot.parent != loop.index:
        return
    if symptom.blame.kind == "stored":
        yield from _as_multiplied(symptom, dot)
        reason = f"the loop's loads are not pipelined, so that {symptom.blame.reason}"
        yield replace(stages_of(module, loop, _STAGES), cause=reason)
    if symptom.blame.kind not in ("used", "type"):
        return
    end = next(each for each in module.own(loop) if each.does == "yield")
    for number, name in enumerate(carried(module, loop)):
        behind = computed_beside(module, end, number)
        if [each for each in behind if each.does in DOTS] != [dot]:
            continue
        text = edits.with_own_sum(module, loop, dot, name)
        words = "the product added to the sum as it is, and nothing else done"
        if symptom.blame.kind == "type":
            if str(dot.result_type.element) not in ("f16", "bf16"):
                return
            alone = parse(text, stage=module.stage)
            summed = alone.operations[loop.index]
            its_dot = next(each for each in alone.own(summed) if each.values == dot.values)
            text = edits.with_single_sum(alone, summed, its_dot)
            words = "the product added to the sum as it is, in fp32"
        yield Change(words, ttir=text)


def _as_multiplied(symptom: Symptom, dot: Operation) -> Iterator[Change]:
    """Yield tensors stored in the type that the product multiplies: the right one, then both."""
    module, settings, names = symptom.module, dict[str, str](), list[str]()
    for number in (1, 0):
        element = str(dot.operand_types[number].element)
        loads = [each for each in computed_beside(module, dot, number) if each.does == "load"]
        name = (pointer_of(module, loads[0]) or "").removeprefix("%") if len(loads) == 1 else ""
        written, other = symptom.config.args.get(name), _WRITTEN.get(element)
        if other is None or not isinstance(written, str) or written.startswith(f"{other}["):
            continue
        settings[name] = re.sub(r"^\w+", other, written)
        names.append(f"{name} of {other}")
        yield Change(" and ".join(names), dict(settings))


def of_promoted(symptom: Symptom) -> Iterator[Change]:
    """Yield fp32 where a constant or a scalar makes it fp64."""
    yield Change("fp32 in place of fp64", ttir=edits.with_fp32(symptom.module))


def of_serialized(symptom: Symptom) -> Iterator[Change]:
    """Yield the change of what ptxas names: calls, accumulators, or a loop's bounds."""
    module = symptom.module
    if symptom.blame.kind == "call":
        text = edits.without(module, "print")
        yield Change("without tl.device_print and tl.device_assert", ttir=text)
        yield Change("its functions inlined", ttir=edits.with_inlined(module))
    elif symptom.blame.kind == "parts":
        dots = [each for each in module.doing(*DOTS) if each.integer(IMPRECISE)]
        text = edits.with_word(module, dots, rf"(?<={IMPRECISE} = )\d+", str(_NO_PARTS))
        yield Change("max_num_imprecise_acc beyond K", ttir=text)
    elif symptom.blame.kind == "registers":
        yield from more_registers(symptom)
        yield from more_warps(symptom)
        yield from smaller_tiles(symptom)
    elif symptom.finding.stage == "ttgir":
        yield from _alone(symptom)
    else:
        for name, value in symptom.config.args.items():
            if isinstance(value, int):
                text = edits.with_constant(module, name, value)
                cause = f"ptxas does not know {name}, an argument at run time: {symptom.said}"
                yield Change(f"{name}={value} as a constexpr", ttir=text, cause=cause)
        yield from map(relieving, more_warps(symptom))
