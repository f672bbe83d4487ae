import re
import subprocess
from pathlib import Path

import pytest

from irlens.isa.dialect import instruction_mix
from irlens.isa.ptx import Instruction, parse
from irlens.isa.ptx.classes import classify
from tests.tables import each_row

DATA = Path(__file__).parents[1] / "data" / "ptx"

#: Opcodes of the PTX ISA 9.0, from the sections of its chapter "Instructions".
NAMES = """
abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev brkpt
brx call clusterlaunchcontrol clz cnot copysign cos cp createpolicy cvt cvta discard div dp2a dp4a
elect ex2 exit fence fma fns getctarank griddepcontrol isspacep istypep ld ldmatrix ldu lg2 lop3 mad
mad24 madc mapa match max mbarrier membar min mma mov movmatrix mul mul24 multimem nanosleep neg not
or pmevent popc prefetch prefetchu prmt rcp red redux rem ret rsqrt sad selp set setmaxnreg setp shf
shfl shl shr sin slct sqrt st stackrestore stacksave stmatrix sub subc suld suq sured sust szext
tanh tcgen05 tensormap testp tex tld4 trap txq vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2
vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vote vset vset2 vset4 vshl vshr vsub vsub2 vsub4 wgmma
wmma xor
"""
OPCODES = NAMES.split()


def instruction(name: str) -> Instruction:
    (function,) = parse(f"{name} %r1;").functions
    return function.instructions[0]


#: Opcodes that ptxas knows only together with what must follow.
NEED_MORE = frozenset(
    {
        "brx",
        "call",
        "clusterlaunchcontrol",
        "cp",
        "createpolicy",
        "mad24",
        "madc",
        "mbarrier",
        "mul24",
    }
    | {"multimem", "setmaxnreg", "shf", "suld", "sured", "sust", "tcgen05", "tensormap", "wgmma"}
    | {"wmma"}
)

#: With the modifier that makes the class certain, where the bare opcode has none.
SPELLED = {"cp": "cp.async"}


@each_row("opcode", OPCODES)
def test_every_opcode_of_the_isa_has_a_class(opcode: str) -> None:
    assert classify(instruction(SPELLED.get(opcode, opcode))) is not None


def test_ptxas_knows_the_same_opcodes() -> None:
    nvidia = pytest.importorskip("triton.backends.nvidia")
    ptxas = Path(nvidia.__file__).parent / "bin" / "ptxas"
    names = [*(name for name in OPCODES if name not in NEED_MORE), "frobnicate"]
    header = ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n"
    text = header + "".join(f"{name};\n" for name in names) + "ret;\n}\n"
    answer = subprocess.run(
        [ptxas, "-arch=sm_90a", "/dev/stdin", "-o", "/dev/null"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert re.findall(r"Not a name of any known instruction: '(\w+)'", answer.stderr) == [
        "frobnicate"
    ]


@each_row(
    ("name", "expected"),
    [
        ("ld.global.nc.L1::evict_last.v4.b32", "global load"),
        ("ld.relaxed.gpu.global.u32", "global load"),
        ("ld.param::entry.u64", "parameter load"),
        ("ld.shared::cluster.b32", "shared load"),
        ("ld.f32", "generic load"),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", "shared load"),
        ("st.global.v4.b32", "global store"),
        ("st.local.u32", "local store"),
        ("st.async.shared::cluster.mbarrier::complete_tx::bytes.b64", "shared store"),
        ("cp.async.cg.shared.global", "async copy"),
        (
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes",
            "async copy",
        ),
        ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32", "async copy"),
        ("cp.async.commit_group", "async control"),
        ("cp.async.bulk.wait_group.read", "async control"),
        ("cp.async.bulk.prefetch.L2.global", "cache control"),
        ("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", "tensor core"),
        ("wgmma.wait_group.sync.aligned", "async control"),
        ("tcgen05.mma.cta_group::1.kind::f16", "tensor core"),
        ("tcgen05.ld.sync.aligned.32x32b.x64.b32", "tensor memory"),
        ("add.s32", "integer"),
        ("add.rn.ftz.f32", "floating point"),
        ("add.rn.f32x2", "floating point"),
        ("max.bf16x2", "floating point"),
        ("mad.lo.s32", "integer"),
        ("div.full.f32", "floating point"),
        ("ex2.approx.ftz.f32", "special function"),
        ("setp.lt.s32", "compare & select"),
        ("and.pred", "logic & shift"),
        ("addc.u32", "integer"),
        ("bar.sync", "barrier & fence"),
        ("mbarrier.try_wait.parity.shared.b64", "barrier & fence"),
        ("red.global.add.f32", "atomic"),
        ("redux.sync.add.s32", "vote & reduce"),
        ("cvta.to.global.u64", "conversion"),
    ],
)
def test_classes(name: str, expected: str) -> None:
    assert classify(instruction(name)) == expected


def test_unknown_opcodes_are_counted_by_name() -> None:
    (function,) = parse("frob.b32 %r1; frob; cp.frob; add.s32 %r1, %r1, 1;").functions
    mix = instruction_mix(function)
    assert (mix.stage, mix.total) == ("ptx", 4)
    assert mix.classes == {"integer": 1}
    assert mix.unknown == {"cp": 1, "frob": 2}


@pytest.mark.parametrize("path", sorted(DATA.glob("*.ptx")), ids=lambda path: path.stem)
def test_samples_are_counted_completely(path: Path) -> None:
    for function in parse(path.read_text()).functions:
        mix = instruction_mix(function)
        assert mix.unknown == {}
        assert sum(mix.classes.values()) == mix.total == len(function.instructions)


def test_the_softmax_against_a_count_of_its_lines() -> None:
    text = (DATA / "softmax_36_sm90_s4.ptx").read_text()
    (kernel,) = parse(text).kernels
    classes = instruction_mix(kernel).classes
    for kind, pattern in {
        "async copy": r"cp\.async\.cg",
        "shuffle": r"shfl",
        "special function": r"ex2",
        "global store": r"st\.global",
        "shared load": r"ld\.shared",
        "barrier & fence": r"bar\.sync",
        "parameter load": r"ld\.param",
    }.items():
        assert classes[kind] == len(re.findall(rf"^\s*(?:@%p\d+ )?{pattern}", text, re.MULTILINE))
