import shutil
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import msgspec
import pytest

from irlens import gpus
from irlens.artifacts import store
from irlens.compiler import Request, capture_entries, find_device, is_stored
from irlens.compiler.sources.target_facts import described_to_torch
from irlens.model.capture import Manifest
from irlens.model.config import Target
from irlens.model.errors import CaptureError

KERNEL = """
    @triton.jit
    def k(x_ptr):
        tl.store(x_ptr, VALUE)
"""
#: Code that changes a file while it is compiled.
SAVING = """
from pathlib import Path

def save(file, old, new):
    Path(file).write_text(Path(file).read_text().replace(old, new))

"""


def request(path: Path, target: Target) -> Request:
    return Request(kernel=f"{path}:k", target=target, args={"x_ptr": "int32[1]"})


def stores_42(entry: Path) -> bool:
    return "arith.constant 42 : i32" in (entry / "k.ttir").read_text()


def dependencies(entry: Path) -> list[str]:
    manifest = msgspec.json.decode((entry / "irlens.json").read_bytes(), type=Manifest)
    return [Path(path).name for path in manifest.dependencies]


def test_a_file_imports_from_its_own_folder_and_that_is_recorded(
    write: Callable[..., Path], sm_90: Target
) -> None:
    helper = write("VALUE = tl.constexpr(42)\n", "helper_of_a_test.py")
    path = write("    from helper_of_a_test import VALUE" + KERNEL)
    (entry,) = capture_entries(request(path, sm_90))
    assert stores_42(entry)
    assert dependencies(entry) == ["helper_of_a_test.py"]
    assert (entry / "python" / "helper_of_a_test.py").read_text() == helper.read_text()
    assert is_stored(request(path, sm_90))

    assert "helper_of_a_test" not in sys.modules
    assert str(path.parent) not in sys.path
    helper.write_text(helper.read_text().replace("42", "17"))
    assert not is_stored(request(path, sm_90))
    (other,) = capture_entries(request(path, sm_90))
    assert not stores_42(other), "the changed file was loaded, not the old module"

    assert stores_42(entry), "whoever looks at the one before still has it"
    helper.write_text(helper.read_text().replace("17", "42"))
    assert capture_entries(request(path, sm_90)) == [entry], "and it is not compiled again"


def test_a_kernel_of_a_class_is_found_by_either_name(
    write: Callable[..., Path], sm_90: Target
) -> None:
    method = """
    class Own:
        @staticmethod
        @triton.jit
        def k(x_ptr):
            tl.store(x_ptr, 42)
    """
    path = write(method)
    for name in ("k", "Own.k"):
        (entry,) = capture_entries(
            Request(kernel=f"{path}:{name}", target=sm_90, args={"x_ptr": "int32[1]"})
        )
        assert stores_42(entry)
    write(method + method.replace("Own", "Other"))
    with pytest.raises(CaptureError, match="several kernels are named 'k'"):
        capture_entries(request(path, sm_90))


def test_captures_of_other_files_that_are_published_first_are_not_used(
    write: Callable[..., Path], sm_90: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper = write("VALUE = tl.constexpr(17)\n", "raced_of_a_test.py")
    asked = request(write("from raced_of_a_test import VALUE\n" + textwrap.dedent(KERNEL)), sm_90)
    (first,) = capture_entries(asked)
    helper.write_text(helper.read_text().replace("17", "42"))
    publish = store.publish
    places: list[Path] = []

    def overtaken(build: Path, destination: Path, *, older: store.Older) -> bool:
        """Publish after a slower process has published captures of the older version."""
        places.append(destination)
        if len(places) == 1:
            shutil.copytree(first.parent, destination)
        return publish(build, destination, older=older)

    monkeypatch.setattr(store, "publish", overtaken)
    (entry,) = capture_entries(asked)
    assert stores_42(entry)
    assert [entry.parent] == places[1:]


def test_a_file_in_a_package_may_import_relatively(
    write: Callable[..., Path], sm_90: Target
) -> None:
    write("", "pack_of_a_test/__init__.py")
    write("from .deeper import VALUE\n", "pack_of_a_test/near.py")
    write("VALUE = tl.constexpr(42)\n", "pack_of_a_test/deeper.py")
    path = write("    from .near import VALUE" + KERNEL, "pack_of_a_test/kernels.py")
    (entry,) = capture_entries(request(path, sm_90))
    assert stores_42(entry)
    assert dependencies(entry) == ["__init__.py", "deeper.py", "near.py"]
    assert not [name for name in sys.modules if name.startswith("pack_of_a_test")]


def test_an_import_above_the_package_that_is_not_executed_is_no_dependency(
    write: Callable[..., Path], sm_90: Target
) -> None:
    write("", "low_of_a_test/__init__.py")
    above = "    if None:\n        from ....tables import VALUE\n    VALUE = tl.constexpr(42)"
    path = write(above + KERNEL, "low_of_a_test/kernels.py")
    (entry,) = capture_entries(request(path, sm_90))
    assert "arith.constant 42 : i32" in (entry / "k.ttir").read_text()


def test_a_module_that_was_imported_before_is_a_dependency_too(
    write: Callable[..., Path], sm_90: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper = write("VALUE = tl.constexpr(42)\n", "preloaded_of_a_test.py")
    monkeypatch.syspath_prepend(str(helper.parent))
    module = __import__("preloaded_of_a_test")
    path = write("    from preloaded_of_a_test import VALUE" + KERNEL)
    (entry,) = capture_entries(request(path, sm_90))
    assert dependencies(entry) == ["preloaded_of_a_test.py"]
    assert sys.modules.pop("preloaded_of_a_test") is module


def test_modules_of_a_triton_that_is_a_checkout_stay_and_are_no_dependencies(
    write: Callable[..., Path], sm_90: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    import triton

    part = write("VALUE = tl.constexpr(42)\n", "part_of_a_test.py")
    monkeypatch.setattr(triton, "__path__", [*triton.__path__, str(part.parent)])
    path = write("    from triton.part_of_a_test import VALUE" + KERNEL)
    (entry,) = capture_entries(request(path, sm_90))
    assert stores_42(entry)
    assert dependencies(entry) == []
    assert sys.modules.pop("triton.part_of_a_test").VALUE == 42


def test_output_of_a_file_goes_to_stderr(
    write: Callable[..., Path], sm_90: Target, capfd: pytest.CaptureFixture[str]
) -> None:
    path = write("    VALUE = tl.constexpr(print('loading') or 42)" + KERNEL)
    capture_entries(request(path, sm_90))
    out, err = capfd.readouterr()
    assert out == ""
    assert err == "loading\n"


@pytest.mark.parametrize(
    "statement",
    ["import pytest; pytest.skip('x', allow_module_level=True)", "raise ValueError('\\udcff')"],
)
def test_whatever_a_file_raises_the_kernel_is_compiled(
    statement: str, write: Callable[..., Path], sm_90: Target
) -> None:
    """One exception derives from ``BaseException``, the other has a text that no file can hold."""
    (entry,) = capture_entries(
        request(write("    VALUE = tl.constexpr(1)" + KERNEL + f"\n    {statement}\n"), sm_90)
    )
    assert (entry / "k.ttir").is_file()


def test_a_kernel_of_another_module_is_compiled_again(
    write: Callable[..., Path], sm_90: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = write("    VALUE = tl.constexpr(42)" + KERNEL, "shared_of_a_test.py")
    monkeypatch.syspath_prepend(str(library.parent))
    __import__("shared_of_a_test")
    one = write("from shared_of_a_test import k\n", "one.py")
    two = write("from shared_of_a_test import k\n", "two.py")
    sm_80 = Target(vendor="nvidia", arch="sm_80", warp_size=32)
    for path, target in ((one, sm_90), (two, sm_90), (two, sm_80)):
        (entry,) = capture_entries(request(path, target))
        assert f"cuda:{target.arch[3:]}" in (entry / "k.ttgir").read_text()
    del sys.modules["shared_of_a_test"]


def test_modules_beside_an_extension_imported_earlier_stay(
    write: Callable[..., Path], sm_90: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyTorch registers classes of its compiler on import, and refuses to do so twice."""
    site = write("", "site-packages/native_of_a_test/__init__.py").parent
    write("import triton\nLOADED = []\n", "site-packages/native_of_a_test/late.py")
    monkeypatch.syspath_prepend(str(site.parent))
    package = __import__("native_of_a_test")
    extension = ModuleType("native_of_a_test._C")
    extension.__file__ = str(site / "_C.so")
    monkeypatch.setitem(sys.modules, extension.__name__, extension)
    path = write("    from native_of_a_test import late\n    VALUE = tl.constexpr(42)" + KERNEL)
    capture_entries(request(path, sm_90))
    first = package.late
    capture_entries(request(path, Target(vendor="nvidia", arch="sm_80", warp_size=32)))
    assert sys.modules["native_of_a_test.late"] is first
    for name in ("native_of_a_test.late", "native_of_a_test"):
        del sys.modules[name]


def test_a_save_while_loading_is_not_compiled(write: Callable[..., Path], sm_90: Target) -> None:
    path = write("    VALUE = tl.constexpr(42)" + KERNEL.replace("VALUE", "VALUE + 0"))
    first = path.read_text()
    path.write_text(f"{SAVING}save(__file__, 'VALUE + 0', '17')\n{first}")
    asked = request(path, sm_90)
    (entry,) = capture_entries(asked)
    assert stores_42(entry)
    assert "VALUE + 0)" in (entry / "python" / path.name).read_text()

    assert not is_stored(asked), "it has been saved since"
    (other,) = capture_entries(asked)
    assert not stores_42(other)


def test_a_save_while_compiling_is_not_captured(write: Callable[..., Path], sm_90: Target) -> None:
    helper = write("VALUE = tl.constexpr(42)\n", "saved_of_a_test.py")
    original = helper.read_text()
    path = write(f"""
from saved_of_a_test import VALUE
{SAVING}
def meanwhile(args):
    save({str(helper)!r}, "42", "17")
    return 1

@triton.heuristics({{"N": meanwhile}})
@triton.jit
def k(x_ptr, N: tl.constexpr):
    tl.store(x_ptr, VALUE)
""")
    (entry,) = capture_entries(request(path, sm_90))
    assert stores_42(entry)
    assert (entry / "python" / helper.name).read_text() == original
    assert helper.read_text() != original
    assert not is_stored(request(path, sm_90)), "it was compiled from what is not there any more"


def test_an_error_shows_the_line_that_was_compiled(
    write: Callable[..., Path], sm_90: Target
) -> None:
    path = write(SAVING + "VALUE = undefined = tl.constexpr(42)\n" + "# a line\n" * 30)
    path.write_text(f"{path.read_text()}{textwrap.dedent(KERNEL)}")
    path.write_text(f"{path.read_text()}save(__file__, '# a line\\n', '')\ndel VALUE\n")
    line = path.read_text().splitlines().index("    tl.store(x_ptr, VALUE)") + 1
    with pytest.raises(CaptureError, match=f"{path.name}:{line}:") as raised:
        capture_entries(request(path, sm_90))
    assert (raised.value.hint or "").startswith("    tl.store(x_ptr, VALUE)")


@pytest.mark.parametrize(
    "setting",
    [
        "import os\nos.environ['TRITON_F32_DEFAULT'] = 'ieee'",
        "from triton import knobs\nknobs.language.fp32_default = 'ieee'",
    ],
)
def test_what_a_file_sets_ends_with_it(
    setting: str, write: Callable[..., Path], sm_90: Target
) -> None:
    kernel = """
@triton.jit
def k(x_ptr):
    x = tl.zeros((16, 16), tl.float32) + tl.load(x_ptr)
    tl.store(x_ptr, tl.sum(tl.dot(x, x)))
"""
    texts = []
    for text in (f"{setting}\n{kernel}", kernel):
        asked = Request(kernel=f"{write(text)}:k", target=sm_90, args={"x_ptr": "fp32[1]"})
        texts.append((capture_entries(asked)[0] / "k.ttir").read_text())
    assert ["inputPrecision = tf32" in text for text in texts] == [False, True]


@pytest.mark.parametrize(("arch", "value"), [("sm_90", 9 * 132), ("sm_80", 8 * 108)])
def test_pytorch_describes_the_target_while_a_file_is_loaded(
    write: Callable[..., Path], arch: str, value: int
) -> None:
    """Libraries choose settings by these, and PyTorch raises an exception without a GPU."""
    torch = pytest.importorskip("torch")
    asked = """
    import torch

    MAJOR, _ = torch.cuda.get_device_capability()
    SMS = torch.cuda.get_device_properties(0).multi_processor_count
    NAME = torch.cuda.get_device_name(0) if torch.cuda.is_available() else ""
    VALUE = tl.constexpr(MAJOR * SMS + ("NVIDIA" not in NAME))
"""
    product = {"sm_90": "h100", "sm_80": "a100"}[arch]
    target = Target(vendor="nvidia", arch=arch, warp_size=32, product=product)
    (entry,) = capture_entries(request(write(asked + KERNEL), target))
    assert f"arith.constant {value} : i32" in (entry / "k.ttir").read_text()
    assert torch.cuda.is_available() == (find_device() is not None), "it ends with the file"


@pytest.mark.parametrize("product", ["b200", "mi300x"])
def test_a_pytorch_for_no_gpu_names_the_toolkit_of_the_target(product: str) -> None:
    """Libraries define kernels where it is new enough."""
    version = pytest.importorskip("torch").version

    def toolkits() -> tuple[str | None, str | None]:
        return version.cuda, version.hip

    if toolkits() != (None, None):
        pytest.skip("PyTorch was built for a GPU")
    with described_to_torch(gpus.find(product).target, "12.9"):
        assert toolkits() == (("12.9", None) if product == "b200" else (None, "12.9"))
    assert toolkits() == (None, None), "it ends with the file"


def test_whatever_module_is_pytorch_by_then_describes_the_target(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A stand-in was in the place of PyTorch when the first file was loaded."""
    names = (
        "is_available", "device_count", "current_device", "get_device_name",
        "get_device_capability", "get_device_properties",
    )  # fmt: skip
    for _ in range(2):
        cuda = SimpleNamespace(**{name: lambda *args: None for name in names})
        monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
        with described_to_torch(gpus.find("h100").target):
            assert cuda.get_device_capability() == (9, 0)
        assert cuda.get_device_capability() is None, "it ends with the file"


@pytest.mark.parametrize(("product", "value"), [("h100", 232448 + 132), ("rtx4090", 101376 + 128)])
def test_triton_describes_the_target_while_a_file_is_loaded(
    write: Callable[..., Path], product: str, value: int
) -> None:
    """Libraries choose settings by these, and take a GPU that does not answer for none at all."""
    asked = """
    def of_gpu(name, default):
        try:
            return triton.runtime.driver.active.utils.get_device_properties(0)[name]
        except Exception:
            return default

    SHARED, SMS = of_gpu("max_shared_mem", 0), of_gpu("multiprocessor_count", 1)
    VALUE = tl.constexpr(SHARED + SMS)
"""
    target = gpus.find(product).target
    (entry,) = capture_entries(request(write(asked + KERNEL), target))
    assert f"arith.constant {value} : i32" in (entry / "k.ttir").read_text()
