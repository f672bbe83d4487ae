import pytest

from irlens.isa.ptx import parse

pytestmark = pytest.mark.stored


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("ret;", 0),
        (".local .align 4 .b8 depot[28]; ret;", 32),
        (".local .align 16 .b8 depot[64]; ret;", 80),
        (".local .b64 pair[2]; .local .b32 one; ret;", 32),
        (".shared .align 4 .b8 tile[4096]; ret;", 0),
        ("alloca.u64 %rd1, 16; ret;", None),
        ("call.uni vprintf, (%rd1, %rd2); ret;", None),
    ],
)
def test_declared_bytes(body: str, expected: int | None) -> None:
    (kernel,) = parse(".visible .entry k() { " + body + " }").kernels
    assert kernel.declared_local_bytes() == expected
