"""Shapes of products, held against 2 MNK of the kernel that the texts were compiled from."""

from pathlib import Path

import pytest

from irlens.isa import mlir
from irlens.isa.mlir.products import PRODUCTS, Product, products, read_product

pytestmark = pytest.mark.stored

SCALED = Path(__file__).parents[1] / "data" / "products" / "scaled.txt"
#: Of every product in that file: all formats, combinations of scales and packings that compile.
M, N, K = 128, 64, 128


def product_of(text: str) -> Product | None:
    module = mlir.parse(f"module {{\n tt.func public @k() {{\n{text}\n tt.return\n }}\n}}")
    (operation,) = module.named(*PRODUCTS)
    return read_product(operation)


def test_every_scaled_product_is_2_m_n_k() -> None:
    lines = SCALED.read_text().splitlines()
    assert len(lines) > 180
    stages = {line.partition(" ")[0] for line in lines}
    assert stages == {"ttir", "ttgir"}
    body = "\n".join(line.partition(" ")[2] for line in lines)
    module = mlir.parse(f"module {{\n tt.func public @k() {{\n{body}\n tt.return\n }}\n}}")
    found = [product for _, product in products(module)]
    assert len(found) == len(lines)
    shares = [each.multiplications / (M * N * K) for each in found]
    assert set(shares) == {1.0}


@pytest.mark.parametrize(
    ("left", "scale", "attributes", "k"),
    [
        ("128x64xi8", "128x4xi8", "{fastMath = false}", 128),
        ("64x128xi8", "128x4xi8", "{fastMath = false, lhs_k_pack = false}", 128),
        ("128x64xi8", "128x8xf8E4M3FN", "{fastMath = false}", 128),
    ],
)
def test_values_of_four_bits_are_packed_along_either_side(
    left: str, scale: str, attributes: str, k: int
) -> None:
    product = product_of(
        f"%c = tt.dot_scaled %a scale %s, %b, %z lhs = e2m1 rhs = e4m3 {attributes} :"
        f" tensor<{left}>, tensor<{scale}> * tensor<128x64xf8E4M3FN> -> tensor<128x64xf32>"
    )
    assert product == Product(1, 128, 64, k, "e2m1", "e4m3")


def test_tensor_memory_holds_the_result_of_blackwell() -> None:
    product = product_of(
        "ttng.tc_gen5_mma %a, %b, %d, %use, %true {is_async, two_ctas} :"
        " !ttg.memdesc<256x64xbf16, #s, #smem>, !ttg.memdesc<64x128xbf16, #s, #smem>,"
        " !ttg.memdesc<256x128xf32, #tmem, #ttng.tensor_memory, mutable>"
    )
    assert product == Product(1, 256, 128, 64, "bf16", "bf16")


def test_a_batch_multiplies_each_of_its_matrices() -> None:
    product = product_of(
        "%c = tt.dot %a, %b, %z, inputPrecision = tf32x3 :"
        " tensor<4x16x32xf32> * tensor<4x32x64xf32> -> tensor<4x16x64xf32>"
    )
    assert product == Product(4, 16, 64, 32, "fp32", "fp32", "tf32")
    assert product.multiplications == 4 * 16 * 64 * 32


def test_what_does_not_fit_is_not_guessed() -> None:
    assert product_of(
        "%c = tt.dot %a, %b, %z : tensor<64x32xf16> * tensor<32x64xf16> -> tensor<128x64xf32>"
    ) is None  # fmt: skip
