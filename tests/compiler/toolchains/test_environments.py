"""Other Tritons: environments that irlens creates, and existing interpreters."""

import fcntl
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from irlens.artifacts import locks
from irlens.artifacts.inventory import is_used, list_items, remove
from irlens.compiler import Request, capture_entries, is_stored
from irlens.compiler.toolchains import environments, interpreters, triton_identity, triton_version
from irlens.compiler.toolchains.interpreters import examine
from irlens.model.config import Target
from irlens.model.errors import CaptureError, IrlensError, UnknownNameError

VERSION = "3.99.0"


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a wheel of a Triton that only reports whether it can import click."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    info = f"triton-{VERSION}.dist-info"
    package = (
        f"__version__ = '{VERSION}'\n"
        "import importlib.util\n"
        "raise ImportError(f'click is {importlib.util.find_spec(\"click\")}')\n"
    )
    with zipfile.ZipFile(folder / f"triton-{VERSION}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("triton/__init__.py", package)
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: triton\nVersion: {VERSION}\n"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def installed(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace venv and pip by something faster; return their commands."""
    done = []

    def run(command: Sequence[str], _lock: int) -> str | None:
        folder = Path(command[3] if "venv" in command else command[0])
        if "venv" in command:
            done.append("venv")
            subprocess.run([*command, "--without-pip"], check=True)
        else:
            done.append(command[-1])
            (site,) = folder.parents[1].glob("lib/python*/site-packages")
            zipfile.ZipFile(next(wheels.iterdir())).extractall(site)
        return None

    monkeypatch.setattr(environments, "_run", run)
    return done


def folder(store: Path) -> Path:
    (found,) = (path for path in (store / "environments").iterdir() if path.is_dir())
    return found


def request(target: Target, triton: str | None, kernel: str = "vector_add") -> Request:
    return Request(kernel=kernel, target=target, settings={"num_warps": 2}, triton=triton)


def test_pip_installs_a_version_once(wheels: Path, private_store: Path) -> None:
    assert environments.needs_install(VERSION)
    found = environments.find_interpreter(VERSION)
    assert found is not None
    assert found.triton == VERSION
    assert found.path.is_relative_to(private_store / "environments")
    shutil.rmtree(wheels)
    assert not environments.needs_install(VERSION)
    assert environments.find_interpreter(VERSION) == found


def test_an_unknown_version_suggests_available_ones(
    private_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = (
        "ERROR: Could not find a version that satisfies the requirement triton==3.7.9 "
        "(from versions: 2.0.0, 3.3.1, 3.5.1, 3.6.0, 3.7.0, 3.7.1, 3.8.0)\n"
        "ERROR: No matching distribution found for triton==3.7.9\n"
    )
    monkeypatch.setattr(
        environments, "_run", lambda command, _lock: None if "venv" in command else printed
    )
    with pytest.raises(UnknownNameError) as raised:
        environments.find_interpreter("3.7.9")
    assert raised.value.message == "unknown version of Triton '3.7.9'"
    assert raised.value.hint == "did you mean 3.7.1 or 3.7.0 or 3.8.0?"
    assert [path.suffix for path in (private_store / "environments").iterdir()] == [".lock"]


@pytest.mark.parametrize(
    ("printed", "problem"),
    [
        (
            "WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by "
            "'NewConnectionError(': Failed to establish a new connection')': /triton/\n"
            "ERROR: Could not find a version that satisfies the requirement triton==3.99.0 "
            "(from versions: none)\nERROR: No matching distribution found for triton==3.99.0\n",
            "pip cannot reach its index",
        ),
        (
            "Could not fetch URL https://index/triton/: connection error: no route - skipping\n"
            "ERROR: Could not find a version that satisfies the requirement triton==3.99.0 "
            "(from versions: 3.6.0)\nERROR: No matching distribution found for triton==3.99.0\n",
            "pip cannot reach its index, and finds only 3.6.0 without it",
        ),
        (
            "ERROR: Could not find a version that satisfies the requirement triton==3.99.0 "
            "(from versions: none)\nERROR: No matching distribution found for triton==3.99.0\n",
            "pip finds no Triton for Python 3.",
        ),
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left\n",
            "Could not install packages due to an OSError: [Errno 28] No space left",
        ),
        ("", "no reason given"),
    ],
)
def test_errors_of_pip_are_reported(
    printed: str, problem: str, private_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        environments, "_run", lambda command, _lock: None if "venv" in command else printed
    )
    with pytest.raises(CaptureError) as raised:
        environments.find_interpreter(VERSION)
    assert raised.value.message.startswith(f"cannot install Triton {VERSION}: {problem}")
    assert [path.suffix for path in (private_store / "environments").iterdir()] == [".lock"]


def test_a_missing_venv_module_has_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "_run", lambda _command, _lock: "No module named venv\n")
    with pytest.raises(CaptureError, match="No module named venv") as raised:
        environments.find_interpreter(VERSION)
    assert "python3-venv" in (raised.value.hint or "")


def test_an_incomplete_environment_is_created_again(
    installed: list[str], private_store: Path
) -> None:
    environments.find_interpreter(VERSION)
    (folder(private_store) / "complete").unlink()
    (folder(private_store) / "half").touch()
    assert environments.needs_install(VERSION)
    environments.find_interpreter(VERSION)
    assert installed == ["venv", f"triton=={VERSION}"] * 2
    assert not (folder(private_store) / "half").exists()


def test_an_environment_without_its_python_is_created_again(
    installed: list[str], private_store: Path
) -> None:
    environments.find_interpreter(VERSION)
    python = folder(private_store) / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python")
    assert environments.needs_install(VERSION)
    assert environments.find_interpreter(VERSION) is not None


def let_go() -> None:
    """Release the locks, as the end of this process would."""
    for file in locks._held.values():
        os.close(file)
    locks._held.clear()


def test_an_environment_is_held_for_the_lifetime_of_the_process(
    installed: list[str], private_store: Path
) -> None:
    script = (
        "import sys\n"
        "from irlens.compiler.toolchains import environments\n"
        f"environments.find_interpreter({VERSION!r})\n"
        "print(flush=True)\n"
        "sys.stdin.read()\n"
    )
    environments.find_interpreter(VERSION)
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as user:
        assert user.stdout is not None
        assert user.stdout.readline() == b"\n"
        let_go()
        clean = [sys.executable, "-m", "irlens", "cache", "clean", "--environments"]
        ran = subprocess.run(clean, capture_output=True, check=True)
        assert ran.stdout.split()[-1] == b"1", "in use"
        user.kill()
    assert environments.find_interpreter(VERSION) is not None
    assert installed == ["venv", f"triton=={VERSION}"]


def test_a_removed_environment_is_created_again(installed: list[str], private_store: Path) -> None:
    environments.find_interpreter(VERSION)
    let_go()
    (found,) = list_items(environments.ENVIRONMENTS)
    assert remove(environments.ENVIRONMENTS, found)
    again = environments.find_interpreter(VERSION)
    assert installed == ["venv", f"triton=={VERSION}"] * 2
    assert again is not None
    (found,) = list_items(environments.ENVIRONMENTS)
    assert is_used(environments.ENVIRONMENTS, found), "the new one is held"


def test_an_interrupted_installation_leaves_nothing(
    private_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(command: Sequence[str], _lock: int) -> None:
        if "venv" not in command:
            raise KeyboardInterrupt
        (Path(command[-1]) / "bin").mkdir(parents=True)

    monkeypatch.setattr(environments, "_run", run)
    with pytest.raises(KeyboardInterrupt):
        environments.find_interpreter(VERSION)
    assert [path.suffix for path in (private_store / "environments").iterdir()] == [".lock"]


def test_what_pip_leaves_in_its_temporary_folder_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with open(os.devnull) as lock:  # noqa: PTH123
        said = environments._run(
            ["/bin/sh", "-c", 'touch "$TMPDIR/left"; echo "$TMPDIR"; exit 1'], lock.fileno()
        )
    assert said is not None
    assert Path(said.strip()).parent == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_a_child_keeps_the_lock_and_ends_with_irlens(private_store: Path, tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from irlens.compiler.toolchains import environments\n"
        "sys.executable = sys.argv[1]\n"
        f"environments.find_interpreter({VERSION!r})\n"
    )
    slow = tmp_path / "venv"
    pid = tmp_path / "pid"
    slow.write_text(f"#!/bin/sh\necho $$ > {pid}.part\nmv {pid}.part {pid}\nexec sleep 900\n")
    slow.chmod(0o755)
    irlens = subprocess.Popen([sys.executable, "-c", script, slow])
    while not pid.exists():
        assert irlens.poll() is None
        time.sleep(0.02)
    (path,) = (private_store / "environments").glob("*.lock")
    with path.open() as lock:
        with pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        irlens.kill()
        irlens.wait()
        fcntl.flock(lock, fcntl.LOCK_EX)  # as soon as the child has ended, too


def test_two_threads_create_one_environment(installed: list[str]) -> None:
    together = threading.Barrier(2)

    def find() -> object:
        together.wait()
        return environments.find_interpreter(VERSION)

    with ThreadPoolExecutor(2) as pool:
        one, two = (each.result() for each in [pool.submit(find), pool.submit(find)])
    assert one == two
    assert installed == ["venv", f"triton=={VERSION}"]


def test_other_interpreters_do_not_see_this_environment(
    installed: list[str], sm_90: Target
) -> None:
    with pytest.raises(CaptureError, match=r"cannot import its Triton: click is None$"):
        capture_entries(request(sm_90, VERSION))


def test_the_installed_version_is_used_directly(sm_90: Target, private_store: Path) -> None:
    here = triton_version()
    assert environments.find_interpreter(here) is None
    assert not environments.needs_install(here)
    assert capture_entries(request(sm_90, here)) == capture_entries(request(sm_90, None))
    assert not (private_store / "environments").exists()
    if here.endswith(".0"):
        assert environments.version_named(here.removesuffix(".0")) == here


def test_a_stored_capture_needs_no_environment(
    sm_90: Target, private_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(environments, "installed_triton", lambda: VERSION)
        made = capture_entries(request(sm_90, None))
    assert is_stored(request(sm_90, VERSION))
    assert capture_entries(request(sm_90, VERSION)) == made
    assert not is_stored(request(sm_90, None))
    assert not (private_store / "environments").exists()


class TestAnotherInterpreter:
    def test_it_compiles_the_same_capture(self, sm_90: Target) -> None:
        (made,) = capture_entries(request(sm_90, sys.executable))
        assert is_stored(request(sm_90, None))
        assert capture_entries(request(sm_90, None)) == [made]
        manifest = json.loads((made / "irlens.json").read_bytes())
        assert manifest["triton_version"] == triton_version()

    def test_it_reports_the_same_errors(self, sm_90: Target, write: Callable[..., Path]) -> None:
        path = str(write("@triton.jit\ndef k(n):\n    tl.nonsense(n)\n"))
        errors = []
        for triton in (None, sys.executable):
            wanted = Request(kernel=path, target=sm_90, args={"n": 3}, triton=triton)
            with pytest.raises(CaptureError) as raised:
                capture_entries(wanted)
            errors.append((raised.value.message, raised.value.hint))
        assert errors[0] == errors[1]

    def test_a_missing_module_is_reported(self, sm_90: Target, write: Callable[..., Path]) -> None:
        kernel = "@triton.jit\ndef k():\n    ONE\n"
        path = str(write(f"from triton.no_such_module import ONE\n{kernel}"))
        with pytest.raises(CaptureError, match="No module named") as raised:
            capture_entries(Request(kernel=path, target=sm_90, triton=sys.executable))
        assert (raised.value.hint or "").endswith(f"for {sys.executable}, too")
        path = str(write(f"import no_such_module\nONE = no_such_module.ONE * 2\n{kernel}"))
        with pytest.raises(CaptureError, match=r"needs no_such_module\.ONE") as raised:
            capture_entries(Request(kernel=path, target=sm_90, triton=sys.executable))
        assert f"install no_such_module for {sys.executable}" in (raised.value.hint or "")

    def test_a_crash_is_reported(self, sm_90: Target, write: Callable[..., Path]) -> None:
        path = str(write("import os\nos.abort()\n@triton.jit\ndef k():\n    pass\n"))
        with pytest.raises(CaptureError, match="was stopped by SIGABRT"):
            capture_entries(Request(kernel=path, target=sm_90, triton=sys.executable))

    def test_output_of_the_kernels_file_is_ignored(
        self, sm_90: Target, write: Callable[..., Path], capfd: pytest.CaptureFixture[str]
    ) -> None:
        path = str(write("import os\nos.write(1, b'hello')\n@triton.jit\ndef k():\n    pass\n"))
        assert capture_entries(Request(kernel=path, target=sm_90, triton=sys.executable))
        assert capfd.readouterr() == ("", "hello")

    def test_a_pythonpath_serves_the_kernel_but_does_not_hide_its_triton(
        self,
        sm_90: Target,
        write: Callable[..., Path],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        for name in ("triton", "helpers"):
            (tmp_path / "lib" / name).mkdir(parents=True)
            (tmp_path / "lib" / name / "__init__.py").write_text("__version__ = '9.9'\nN = 3\n")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "lib"))
        assert examine(Path(sys.executable)).triton == triton_version()
        path = str(write("from helpers import N\n@triton.jit\ndef k():\n    pass\n"))
        assert capture_entries(Request(kernel=path, target=sm_90, triton=sys.executable))

    def test_the_folder_of_an_environment_is_accepted(self) -> None:
        assert environments.find_interpreter(sys.prefix) == examine(
            Path(sys.prefix) / "bin" / "python"
        )

    def test_an_interpreter_without_triton(self, tmp_path: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path], check=True)
        python = tmp_path / "bin" / "python"
        with pytest.raises(CaptureError, match="has no Triton") as raised:
            environments.find_interpreter(str(python))
        assert raised.value.hint == f"{python} -m pip install triton"

    @pytest.mark.parametrize(
        ("facts", "message"),
        [
            ({"python": [3, 9]}, "is Python 3.9, and irlens compiles with 3.11 or newer"),
            ({"triton": "{}/triton/__init__.py"}, "has Triton 3.1.0, and irlens compiles with 3.2"),
            ({"abi": "cpython-99", "msgspec": False}, "has no msgspec"),
        ],
    )
    def test_an_unsuitable_interpreter(
        self, facts: dict[str, object], message: str, tmp_path: Path
    ) -> None:
        triton = importlib.util.find_spec("triton")
        assert triton is not None
        (tmp_path / "triton").mkdir()
        (tmp_path / "triton" / "__init__.py").write_text("__version__ = '3.1.0'\n")
        usual = {
            "python": list(sys.version_info[:2]),
            "abi": None,
            "triton": triton.origin,
            "msgspec": True,
        }
        said = json.dumps(usual | facts).replace("{}", str(tmp_path))
        python = tmp_path / "python"
        python.write_text(f"#!/bin/sh\ncat > /dev/null\ncat <<'end'\n{said}\nend\n")
        python.chmod(0o755)
        with pytest.raises(CaptureError, match=message):
            environments.find_interpreter(str(python))

    def test_an_interpreter_that_does_not_respond(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        slow = tmp_path / "python"
        slow.write_text("#!/bin/sh\nexec sleep 900\n")
        slow.chmod(0o755)
        monkeypatch.setattr(interpreters, "_EXAMINE_TIMEOUT", 0.2)
        with pytest.raises(CaptureError, match=r"python did not respond within 0\.2 s"):
            environments.find_interpreter(str(slow))

    @pytest.mark.parametrize("name", ["/bin/true", "/bin/cat", "/bin/false"])
    def test_an_executable_that_is_not_a_python(self, name: str) -> None:
        with pytest.raises(
            CaptureError, match=f"{name} is not a Python that irlens can compile with"
        ):
            environments.find_interpreter(name)

    @pytest.mark.parametrize("name", ["nowhere/python", "no-such-python", "/etc/passwd", "."])
    def test_a_missing_interpreter(self, name: str) -> None:
        with pytest.raises(CaptureError, match=r"no such (version or )?interpreter"):
            environments.find_interpreter(name)


@pytest.mark.parametrize("version", ["3.1.0", "2.0", "3"])
def test_an_unsupported_version_is_rejected(version: str, private_store: Path) -> None:
    with pytest.raises(IrlensError, match=r"irlens compiles with 3\.2 or newer"):
        environments.identify(version)
    assert not private_store.exists()


def test_the_identity_of_a_local_build_includes_its_library(tmp_path: Path) -> None:
    package = tmp_path / "triton" / "__init__.py"
    library = tmp_path / "triton" / "_C" / "libtriton.so"
    library.parent.mkdir(parents=True)
    package.write_text("__version__ = '3.9.0'\n")
    library.write_bytes(b"one")
    record = tmp_path / "triton-3.9.0+git1.dist-info"
    record.mkdir()
    assert triton_identity(package) == "3.9.0"
    (record / "direct_url.json").write_text("{}")
    first = triton_identity(package)
    os.utime(library, ns=(1, 1))
    assert len({"3.9.0", first, triton_identity(package)}) == 3
