"""Types and attributes of ttir and ttgir, against what Triton prints."""

import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.isa.mlir import Operation, parse
from irlens.isa.mlir.types import (
    MemDesc,
    Pointer,
    Scalar,
    Shaped,
    Tensor,
    TensorDesc,
    Type,
    Unknown,
    read_type,
)

pytestmark = pytest.mark.stored

DATA = Path(__file__).parents[1] / "data"

layouts = st.sampled_from(["#blocked", "#shared1", "#ttg.slice<{dim = 1, parent = #blocked}>"])
shapes = st.lists(st.integers(1, 1 << 16), min_size=1, max_size=4).map(tuple)
scalars = st.builds(Scalar, st.sampled_from(["i1", "i32", "f16", "bf16", "f8E4M3FN", "index"]))
pointers = st.builds(Pointer, scalars, st.sampled_from(["", "1", "3"]))
elements = scalars | pointers | st.just(Unknown("complex<f32>"))
tensors = st.builds(Tensor, shapes, elements, st.just("") | layouts)
buffers = st.builds(
    MemDesc,
    shapes,
    scalars,
    layouts,
    st.sampled_from([("#smem",), ("#smem", "mutable"), ("#smem", "mutable", "3x128x64")]),
)
implied = st.builds(Shaped, shapes, scalars, layouts, st.sampled_from([(), ("#smem", "mutable")]))
descriptors = st.builds(TensorDesc, tensors | st.builds(Shaped, shapes, scalars, layouts))
kinds = elements | tensors | buffers | implied | descriptors | st.builds(Pointer, tensors)


@given(kinds)
def test_a_printed_type_is_read_again(kind: Type) -> None:
    assert read_type(str(kind)) == kind


def test_types_that_triton_prints_are_known_and_printed_alike() -> None:
    """Those of Triton 3.4 to 3.9 for NVIDIA and AMD."""
    seen: set[Type] = set()
    with tarfile.open(DATA / "mlir" / "triton.tar.xz") as tar:
        for member in tar:
            if member.name.endswith((".ttir", ".ttgir")) and (file := tar.extractfile(member)):
                text = file.read().decode()
                for operation in parse(text).operations:
                    seen.update(operation.types)
                    assert all(str(each) in text for each in operation.types)
    assert {type(each) for each in seen} == {
        Scalar, Pointer, Tensor, MemDesc, Shaped, TensorDesc, Unknown
    }  # fmt: skip
    assert {str(each) for each in seen if isinstance(each, Unknown)} == {"!ttg.async.token"}


@given(st.text("!tensorpd<>x0123456789, #[]{}f", max_size=40))
def test_any_text_is_a_type(text: str) -> None:
    kind = read_type(text)
    assert isinstance(kind, Type)
    assert read_type(str(kind)) == kind


@pytest.mark.parametrize(
    ("written", "bits"),
    [("f16", 16), ("bf16", 16), ("i1", 1), ("i64", 64), ("i128", 128), ("f8E4M3FN", 8),
     ("f8E5M2", 8), ("!tt.ptr<f32>", 64), ("index", None), ("!tt.tensordesc<f32>", None),
     (f"i{1 << 64}", None)],
)  # fmt: skip
def test_bits(written: str, bits: int | None) -> None:
    assert read_type(written).bits == bits


def test_what_a_type_refers_to() -> None:
    tensor = read_type("tensor<128x64x!tt.ptr<f16>, #ttg.slice<{dim = 1, parent = #b}>>")
    assert tensor == Tensor((128, 64), Pointer(Scalar("f16")), "#ttg.slice<{dim = 1, parent = #b}>")
    assert (tensor.element.pointee, tensor.element.bytes) == (Scalar("f16"), 8)
    for written in ("!tt.tensordesc<tensor<128x64xf16>>", "!tt.tensordesc<128x64xf16, #shared>"):
        assert (read_type(written).pointee, read_type(written).shape) == (Scalar("f16"), ())
    assert read_type("!tt.ptr<!tt.ptr<i8>>").pointee == Pointer(Scalar("i8"))
    assert read_type("f32").pointee is None


def test_the_buffer_that_a_descriptor_is_a_part_of() -> None:
    part = read_type("!ttg.memdesc<128x64xf16, #shared, #smem, mutable, 3x128x64>")
    whole = read_type("!ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>")
    assert isinstance(part, MemDesc)
    assert isinstance(whole, MemDesc)
    assert part.whole == whole.whole == (3, 128, 64)


def test_types_nested_without_bound_stay_text() -> None:
    text = "!tt.ptr<" * 9 + "f32" + ">" * 9
    assert str(read_type(text)) == text


@pytest.mark.parametrize(
    "shape", ["2x" * 20_000, "999999999x" * 20, "1x" * 300], ids=["2", "large", "1"]
)
def test_a_tensor_of_more_elements_than_any_stays_text(shape: str) -> None:
    written = f"tensor<{shape}f32, #b>"
    assert read_type(written) == Unknown(written)


def attributed(attributes: str) -> Operation:
    (operation,) = parse(f"tt.x {{{attributes}}} : i32").operations
    return operation


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("0 : i32", 0),
        ("-1 : i64", -1),
        ("3", 3),
        ("true", None),
        ("1.5 : f32", None),
        ('"3"', None),
    ],
)
def test_integers_of_attributes(written: str, number: int | None) -> None:
    operation = attributed(f"a = {written}")
    assert operation.integer("a") == number
    assert operation.integer("b") is None


@pytest.mark.parametrize(
    ("written", "numbers"),
    [("array<i32: 1, 0>", (1, 0)), ("array<i32>", ()), ("[1, -2]", (1, -2)), ('"1"', ()),
     ("dense<16> : tensor<1xi32>", (16,)), ("dense<[16, 1]> : tensor<2xi32>", (16, 1))],
)  # fmt: skip
def test_lists_of_attributes(written: str, numbers: tuple[int, ...]) -> None:
    assert attributed(f"a = {written}").integers("a") == numbers


def test_flags() -> None:
    operation = attributed("set, on = true, off = false")
    assert [operation.flag(each) for each in ("set", "on", "off", "absent")] == [
        True, True, False, False
    ]  # fmt: skip
