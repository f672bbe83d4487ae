import pytest

from irlens.isa.ptx import Function, parse
from irlens.isa.ptx.registers import access, resolve
from tests.tables import each_row

pytestmark = pytest.mark.stored

# Every form was looked up in the PTX ISA: what is written, what is read.
FORMS = [
    ("add.s32 %r1, %r2, %r3;", "%r1", "%r2 %r3"),
    ("mov.u32 %r1, %tid.x;", "%r1", "%tid"),
    ("mov.b32 %r1, global_smem;", "%r1", ""),
    ("mov.b64 {%r1, %r2}, %rd1;", "%r1 %r2", "%rd1"),
    ("mov.b64 {_, %r2}, %rd1;", "%r2", "%rd1"),
    ("mov.b64 %rd1, {%r1, %r2};", "%rd1", "%r1 %r2"),
    ("setp.lt.s32 %p1, %r1, 4;", "%p1", "%r1"),
    ("setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;", "%p1 %p2", "%r1 %r2 %p3"),
    ("@%p1 mov.u32 %r1, 0;", "%r1", "%p1"),
    ("@!%p1 st.global.b32 [%rd1], %r1;", "", "%p1 %rd1 %r1"),
    ("ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1+16];", "%r1 %r2 %r3 %r4", "%rd1"),
    ("ld.param.b64 %rd1, [kernel_param_0];", "%rd1", ""),
    ("st.shared.v2.b32 [%r1], {%r2, %r3};", "", "%r1 %r2 %r3"),
    ("red.global.add.f32 [%rd1], %f1;", "", "%rd1 %f1"),
    ("atom.global.add.u32 %r1, [%rd1], %r2;", "%r1", "%rd1 %r2"),
    ("atom.global.add.u32 _, [%rd1], %r2;", "", "%rd1 %r2"),
    ("prefetch.global.L2 [%rd1];", "", "%rd1"),
    ("applypriority.global.L2::evict_normal [%rd1], 128;", "", "%rd1"),
    ("createpolicy.fractional.L2::evict_last.b64 %rd1, 1.0;", "%rd1", ""),
    ("bar.sync %r1, %r2;", "", "%r1 %r2"),
    ("bar.warp.sync %r1;", "", "%r1"),
    ("bar.red.and.pred %p1, %r1, %p2;", "%p1", "%r1 %p2"),
    ("barrier.cta.red.popc.u32 %r1, %r2, %p2;", "%r1", "%r2 %p2"),
    ("barrier.cluster.arrive;", "", ""),
    ("shfl.sync.bfly.b32 %r1|%p1, %r2, 2, 31, -1;", "%r1 %p1", "%r2"),
    ("vote.sync.ballot.b32 %r1, %p1, %r2;", "%r1", "%p1 %r2"),
    ("match.all.sync.b32 %r1|%p1, %r2, %r3;", "%r1 %p1", "%r2 %r3"),
    ("redux.sync.add.s32 %r1, %r2, -1;", "%r1", "%r2"),
    ("elect.sync %r1|%p1, -1;", "%r1 %p1", ""),
    ("elect.sync _|%p1, -1;", "%p1", ""),
    ("activemask.b32 %r1;", "%r1", ""),
    ("isspacep.global %p1, %rd1;", "%p1", "%rd1"),
    ("cp.async.cg.shared.global [%r1], [%rd1], 16, %r2;", "", "%r1 %rd1 %r2"),
    ("cp.async.wait_group 1;", "", ""),
    (
        "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        " [%r1], [%rd1, {%r2, %r3}], [%r4];",
        "",
        "%p1 %r1 %rd1 %r2 %r3 %r4",
    ),
    ("mbarrier.init.shared::cta.b64 [%r1], 1;", "", "%r1"),
    ("mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 32768;", "", "%r1"),
    ("mbarrier.arrive.shared.b64 %rd1, [%r1];", "%rd1", "%r1"),
    ("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1], %r2;", "", "%r1 %r2"),
    ("mbarrier.try_wait.parity.shared.b64 %p1, [%r1], %r2;", "%p1", "%r1 %r2"),
    ("mbarrier.pending_count.b64 %r1, %rd1;", "%r1", "%rd1"),
    (
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r1, %r2}, {%r3}, {%r4}, {%r5, %r6};",
        "%r1 %r2",
        "%r3 %r4 %r5 %r6",
    ),
    (
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r1, %r2}, %rd1, %rd2,"
        " %p1, 1, 1, 0, 0;",
        "%r1 %r2",
        "%r1 %r2 %rd1 %rd2 %p1",
    ),
    ("wgmma.wait_group.sync.aligned 1;", "", ""),
    (
        "wmma.store.d.sync.aligned.row.m16n16k16.f32 [%rd1], {%f1, %f2}, %r1;",
        "",
        "%rd1 %f1 %f2 %r1",
    ),
    ("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%r3];", "%r1 %r2", "%r3"),
    ("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r3], {%r1, %r2};", "", "%r1 %r2 %r3"),
    ("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2}, [%r3 + 4];", "%r1 %r2", "%r3"),
    ("tcgen05.ld.red.sync.aligned.32x32b.x2.f32.min {%r1, %r2}, %r4, [%r3];", "%r1 %r2 %r4", "%r3"),
    ("tcgen05.st.sync.aligned.32x32b.x2.b32 [%r3], {%r1, %r2};", "", "%r1 %r2 %r3"),
    ("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 128;", "", "%r1"),
    ("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 128;", "", "%r1"),
    (
        "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1;",
        "",
        "%r1 %rd1 %rd2 %r2 %p1",
    ),
    ("tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%rd1];", "", "%rd1"),
    ("multimem.ld_reduce.relaxed.sys.global.add.f32 %f1, [%rd1];", "%f1", "%rd1"),
    ("multimem.red.relaxed.sys.global.add.f32 [%rd1], %f1;", "", "%rd1 %f1"),
    ("griddepcontrol.wait;", "", ""),
    ("nanosleep.u32 %r1;", "", "%r1"),
    ("setmaxnreg.inc.sync.aligned.u32 240;", "", ""),
    ("call (%r1), callee, (%r2, %r3);", "%r1", "%r2 %r3"),
    ("call.uni callee, (%r2);", "", "%r2"),
    ("call (retval0), %rd1, (param0), prototype;", "", "%rd1"),
    ("brx.idx %r1, targets;", "", "%r1"),
    ("stackrestore.u64 %rd1;", "", "%rd1"),
    ("stacksave.u64 %rd1;", "%rd1", ""),
    ("discard.global.L2 [%rd1], 128;", "", "%rd1"),
    ("fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;", "", "%rd1"),
    ("sust.b.1d.b32.trap [surface, {%r1}], {%r2};", "", "%r1 %r2"),
    ("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [texture, {%r1}];", "%f1 %f2 %f3 %f4", "%r1"),
]


def fragment(text: str) -> Function:
    (function,) = parse(text).functions
    return function


@each_row(("text", "writes", "reads"), FORMS)
def test_a_form_of_the_isa(text: str, writes: str, reads: str) -> None:
    (instruction,) = fragment(text).instructions
    found = access(instruction)
    assert found is not None
    assert (set(found.writes), set(found.reads)) == (set(writes.split()), set(reads.split()))


def test_an_opcode_that_is_not_in_the_isa_is_not_guessed_at() -> None:
    (instruction,) = fragment("frobnicate.b32 %r1, %r2;").instructions
    assert access(instruction) is None


def test_a_name_means_the_innermost_declaration() -> None:
    function = fragment(".reg .b32 %r<2>; { .reg .b64 %r1; mov.b64 %r1, 0; } mov.b32 %r1, %tid.x;")
    inner, outer = function.instructions
    found = [resolve(function, "%r1", i.scope) for i in (inner, outer)]
    assert [register.group.type for register in found if register] == ["b64", "b32"]
    assert resolve(function, "%tid", outer.scope) is None
