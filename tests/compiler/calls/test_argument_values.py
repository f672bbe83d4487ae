from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from irlens.compiler.calls.argument_values import (
    Descriptor,
    Tensor,
    manifest_value,
    parse_argument,
    parse_value,
)
from irlens.compiler.calls.dtypes import DTYPES, dtype_of
from irlens.compiler.calls.expressions import evaluate
from irlens.model.config import ConstexprValue
from irlens.model.errors import ArtifactError, CaptureError
from tests.tables import each_row


@each_row(
    ("text", "value"),
    [
        ("128", 128),
        ("0x80", 128),
        ("-3", -3),
        ("0.5", 0.5),
        ("1e-6", 1e-6),
        ("true", True),
        ("False", False),
        ("none", None),
        ("leaky_relu", "leaky_relu"),
        ("'none'", "none"),
        ('"16"', "16"),
        ("fp16", "tl.float16"),
        ("tl.float16", "tl.float16"),
        ("torch.bfloat16", "tl.bfloat16"),
        ("'fp16'", "fp16"),
        ("", ""),
    ],
)
def test_the_text_of_a_constexpr_determines_its_type(text: str, value: ConstexprValue) -> None:
    parsed = parse_value(text)
    assert parsed == value
    assert type(parsed) is type(value)


def test_only_dtype_names_are_dtypes() -> None:
    dtype = dtype_of("tl.float16")
    assert dtype is not None
    assert dtype.name == "fp16"
    assert dtype_of("fp16") is None
    assert dtype_of(16) is None


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("fp32", "f32 fp32 float32 torch.float torch.float32 tl.float32 np.single numpy.float32"),
        ("fp64", "f64 float64 double torch.double np.float64"),
        (
            "fp16",
            "half f16 fp16 float16 torch.half np.half tl.float16 Float16 triton.language.float16",
        ),
        ("bf16", "bf16 BF16 bfloat16 torch.bfloat16 ml_dtypes.bfloat16"),
        ("fp8e4nv", "fp8e4nv fp8e4m3fn float8_e4m3fn f8E4M3FN torch.float8_e4m3fn tl.float8e4nv"),
        ("fp8e5", "fp8e5 fp8e5m2 float8_e5m2 f8E5M2"),
        ("fp8e4b8", "fp8e4b8 float8_e4m3fnuz f8E4M3FNUZ"),
        ("uint8", "u8 uint8 ui8 np.ubyte torch.uint8"),
        ("int8", "i8 int8 np.byte"),
        ("int64", "i64 int64 long torch.long np.int_"),
        ("int32", "i32 int32 torch.int np.intc"),
        ("bool", "i1 bool int1 np.bool_ torch.bool"),
    ],
)
def test_a_tensor_may_have_any_name_of_its_dtype(name: str, names: str) -> None:
    for written in names.split():
        tensor = parse_argument(f"{written}[4, 2]", {}, "x")
        assert isinstance(tensor, Tensor)
        assert (tensor.dtype.name, tensor.shape) == (name, (4, 2)), written
        # And where a dtype replaces that of a described tensor.
        replaced = parse_argument(written, {}, "x", shape_of=Tensor(DTYPES["int16"], (3,)))
        assert replaced == Tensor(DTYPES[name], (3,)), written


def test_words_are_no_dtypes_where_they_may_be_texts() -> None:
    assert parse_value("half") == "half"
    assert parse_value("double") == "double"
    assert parse_value("u8") == "tl.uint8"


@pytest.mark.parametrize(
    ("written", "near"),
    [("int33", "int32"), ("float8_e4m3", "float8_e4m3fn"), ("bfloat", "bfloat16")],
)
def test_an_unknown_dtype_gets_similar_names(written: str, near: str) -> None:
    with pytest.raises(CaptureError, match=f"unknown dtype '{written}'") as caught:
        parse_argument(f"{written}[4]", {}, "--arg x")
    assert near in (caught.value.hint or "")


def test_dtypes_have_tritons_sizes() -> None:
    import triton.language as tl

    for dtype in set(DTYPES.values()):
        bits = getattr(tl, dtype.language).primitive_bitwidth
        assert dtype.size == max(bits // 8, 1), dtype


def test_dtypes_have_pytorchs_sizes() -> None:
    torch = pytest.importorskip("torch")
    for dtype in set(DTYPES.values()):
        if dtype.torch is not None:
            assert getattr(torch, dtype.torch).itemsize == dtype.size, dtype


def test_a_shape_may_be_expressions() -> None:
    tensor = parse_argument("fp16[M, cdiv(N, 3)]", {"M": 4, "N": 10}, "x")
    assert tensor == Tensor(DTYPES["fp16"], (4, 4))
    assert isinstance(tensor, Tensor)
    assert tensor.nbytes == 32
    assert manifest_value(tensor) == "fp16[4, 4]"


def test_a_dtype_alone_keeps_the_shape_of_the_tensor_it_replaces() -> None:
    before = Tensor(DTYPES["fp32"], (3, 5))
    assert parse_argument("bf16", {}, "x", shape_of=before) == Tensor(DTYPES["bf16"], (3, 5))
    with pytest.raises(CaptureError, match="has no shape") as raised:
        parse_argument("bf16", {}, "x")
    assert raised.value.hint == (
        "write bf16[1024, 1024] for a tensor, or a number such as 1 for a scalar"
    )


def test_the_block_of_a_descriptor_is_evaluated_last() -> None:
    found = parse_argument("fp16[M, 64]:block[BM, 32]", {"M": 4}, "x")
    assert isinstance(found, Descriptor)
    assert found == Descriptor(Tensor(DTYPES["fp16"], (4, 64)), ("BM", "32"))
    assert manifest_value(found) == "fp16[4, 64]:block[BM, 32]"
    assert found.evaluated({"BM": 2}, "x").block == (2, 32)
    with pytest.raises(CaptureError, match="needs a value of 'BM'"):
        found.evaluated({}, "x")
    assert parse_argument(str(found), {}, "x") == found


def test_the_replacement_of_a_descriptor_keeps_its_block() -> None:
    before = parse_argument("fp16[4, 64]:block[2, 32]", {}, "x")
    assert str(parse_argument("fp32", {}, "x", shape_of=before)) == "fp32[4, 64]:block[2, 32]"
    assert str(parse_argument("fp16[8, 8]", {}, "x", shape_of=before)) == "fp16[8, 8]:block[2, 32]"
    other = parse_argument("fp16[8, 8] : block [4, 4]", {}, "x", shape_of=before)
    assert str(other) == "fp16[8, 8]:block[4, 4]"


@pytest.mark.parametrize(
    "text", ["fp17[4]", "fp16[-1]", "fp16[M]", "fp16[1.5]", "hello", "''", "fp16[4]:block[2, 2]"]
)
def test_an_invalid_argument_is_an_error_with_its_origin(text: str) -> None:
    with pytest.raises(CaptureError, match="--arg x"):
        parse_argument(text, {}, "--arg x")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("next_power_of_2(n)", 1024),
        ("next_power_of_2(1024)", 1024),
        ("next_power_of_2(1)", 1),
        ("cdiv(n, 256)", 4),
        ("min(n, 8 * 132)", 781),
        ("max(n, 1024) // 2", 512),
        (7, 7),
        (None, None),
        ("'text'", "text"),
        ("fp16", "tl.float16"),
    ],
)
def test_expressions(expression: ConstexprValue, value: ConstexprValue) -> None:
    assert evaluate(expression, {"n": 781}, "x") == value


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 1000, 1023, 1025, 2**31 - 1])
def test_functions_match_tritons(n: int) -> None:
    import triton

    assert evaluate("next_power_of_2(n)", {"n": n}, "x") == triton.next_power_of_2(n)
    assert evaluate("cdiv(n, 48)", {"n": n}, "x") == triton.cdiv(n, 48)


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').getpid()",
        "().__class__",
        "n.__class__",
        "open('/etc/passwd')",
        "9 ** 9 ** 9",
        "1 / 0",
        "1 +",
        "[1, 2]",
        "(" * 150 + ")" * 150,
        "1" * 1000,
        "lambda: 1",
        "n = 2",
        "1; 2",
        "",
    ],
)
def test_an_expression_reaches_nothing_but_arithmetic(expression: str) -> None:
    with pytest.raises(CaptureError):
        evaluate(expression, {"n": 1}, "x")


@given(st.text(max_size=60))
@example("@")
@example("@~nobody/x.npy")
def test_invalid_text_only_raises_errors_that_a_user_can_act_on(text: str) -> None:
    parse_value(text)
    for read in (evaluate, parse_argument):
        with suppress(CaptureError, ArtifactError):  # "@FILE" names one that is not there
            read(text, {"n": 3}, "x")
