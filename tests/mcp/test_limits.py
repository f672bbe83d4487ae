"""What a call may read, how long it may take, and that it holds up no other."""

import json
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest

pytest.importorskip("mcp.server.mcpserver")

import anyio
from mcp.client.client import Client
from mcp.server.mcpserver import MCPServer
from mcp_types import ListRootsResult, Root

from irlens.mcp.roots import Roots
from irlens.mcp.server import make_server
from irlens.model.errors import IrlensError
from tests.mcp.test_server import CAPTURES, SOFTMAX, answer, call, error_of

#: A kernel whose file never ends to load; it leaves the id of its process.
SLOW = """
import os, pathlib, time
import triton
pathlib.Path(__file__).with_name("pid").write_text(str(os.getpid()))
time.sleep(600)

@triton.jit
def slow(x_ptr):
    pass
"""


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    file = tmp_path / "slow.py"
    file.write_text(SLOW)
    return file


def runs(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:3]
    except (FileNotFoundError, ProcessLookupError):  # it ended before, or while it was read
        return False


async def wait_until_gone(pid: int) -> None:
    for _ in range(100):
        if not runs(pid):
            return
        await anyio.sleep(0.1)
    pytest.fail(f"process {pid} runs on")


async def pid_of(slow: Path) -> int:
    file = slow.with_name("pid")
    for _ in range(600):
        if file.exists() and (text := file.read_text()):
            return int(text)
        await anyio.sleep(0.1)
    pytest.fail("the call has not begun")


async def test_a_call_ends_at_the_time_limit(slow: Path) -> None:
    server = make_server(folders=[slow.parent], time_limit=8)
    text = await error_of(server, "inspect", kernel=f"{slow}:slow", targets=["h100"])
    assert "inspect took longer than 8 s and was stopped" in text
    assert "--timeout" in text
    await wait_until_gone(await pid_of(slow))


async def test_a_call_waits_for_no_other_and_a_cancelled_one_ends(slow: Path) -> None:
    server = make_server(folders=[slow.parent, CAPTURES])
    async with Client(server) as client, anyio.create_task_group() as group:
        scope = anyio.CancelScope()

        async def inspect_slow() -> None:
            with scope:
                arguments = {"kernel": f"{slow}:slow", "targets": ["h100"]}
                await client.call_tool("inspect", arguments)

        group.start_soon(inspect_slow)
        pid = await pid_of(slow)
        shown = await call(server, "read_stage", kernel=SOFTMAX, stage="ptx", lines=1)
        assert "lines 1 to 1" in shown
        assert runs(pid)
        scope.cancel()
        await wait_until_gone(pid)


@pytest.mark.usefixtures("answering_here")
@pytest.mark.parametrize(
    "kernel",
    [
        "/", "/etc", "/etc/passwd", "~", "..", "../x.ptx", "{root}/../elsewhere/k.ptx",
        "{root}/sub/../../elsewhere/k.ptx", "{elsewhere}/k.py:f", "{elsewhere}/dump.mlir#2",
    ],
)  # fmt: skip
async def test_nothing_outside_of_the_folders_is_read(kernel: str, tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    for folder in (root / "sub", elsewhere):
        folder.mkdir(parents=True)
    for name in ("k.ptx", "k.py", "dump.mlir"):
        (elsewhere / name).write_text("secret")
    named = kernel.format(root=root, elsewhere=elsewhere)
    text = await error_of(make_server(folders=[root]), "inspect", kernel=named)
    assert "is outside of the folders that this server reads" in text
    assert "secret" not in text


@pytest.mark.usefixtures("answering_here")
async def test_stdin_is_no_kernel(tmp_path: Path) -> None:
    text = await error_of(make_server(folders=[tmp_path]), "inspect", kernel="-")
    assert "stdin carries the protocol" in text


@pytest.mark.usefixtures("answering_here")
@pytest.mark.parametrize("inside", [True, False])
async def test_no_link_is_followed(inside: bool, tmp_path: Path) -> None:
    root = tmp_path / "root"
    secret = (root if inside else tmp_path) / "secrets" / "env"
    secret.parent.mkdir(parents=True)
    secret.write_text("PASSWORD=hunter2\n")
    root.mkdir(exist_ok=True)
    (root / "k.ptx").symlink_to(secret)
    (root / "folder").symlink_to(secret.parent)
    server = make_server(folders=[root])
    for name in ("k.ptx", "folder/env", "folder"):
        text = await error_of(server, "read_stage", kernel=str(root / name), stage="ptx")
        assert "this server follows none" in text
        assert "hunter2" not in text


@pytest.mark.usefixtures("answering_here")
async def test_a_folder_may_itself_be_named_by_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    shutil.copytree(SOFTMAX, real)
    link.symlink_to(real)
    for named, folder in ((link, link), (real, link), (link, real)):
        if (named, folder) == (link, real):
            assert "outside" in await error_of(
                make_server(folders=[folder]), "inspect", kernel=str(named)
            )
        else:
            shown = await call(make_server(folders=[folder]), "inspect", kernel=str(named))
            assert "softmax_kernel" in shown


@pytest.mark.usefixtures("answering_here")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"args": {"x_ptr": "@/etc/passwd"}}, "outside of the folders"),
        ({"settings": {"ir_override": "/etc/passwd"}}, "outside of the folders"),
        ({"settings": {"extern_libs": ["/etc/passwd"]}}, "outside of the folders"),
    ],
)
async def test_values_name_no_file_elsewhere(
    arguments: dict[str, Any], message: str, tmp_path: Path
) -> None:
    server = make_server(folders=[tmp_path])
    text = await error_of(server, "inspect", kernel="softmax", targets=["h100"], **arguments)
    assert message in text


def test_names_and_irlens_own_captures_need_no_folder(tmp_path: Path) -> None:
    from irlens.artifacts import store

    roots = Roots([tmp_path])
    for kernel in ("softmax", "triton.language.standard:softmax", f"{store.captures()}/key"):
        roots.check_kernel(kernel)
    with pytest.raises(IrlensError, match="outside"):
        roots.check_kernel(str(Path(SOFTMAX)))
    with pytest.raises(IrlensError):
        roots.check_kernel("a\0b/c")


@pytest.mark.usefixtures("answering_here")
async def test_the_client_may_name_the_folders(tmp_path: Path) -> None:
    here = tmp_path / "with space"
    shutil.copytree(SOFTMAX, here)

    async def roots(context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=here.as_uri())])  # type: ignore[arg-type]

    async def inspect(server: MCPServer) -> bool:
        async with Client(server, list_roots_callback=roots) as client:
            return bool((await client.call_tool("inspect", {"kernel": str(here)})).is_error)

    assert not await inspect(make_server())
    assert await inspect(make_server(folders=[CAPTURES]))  # what it is started for comes first
    assert "outside" in await error_of(make_server(), "inspect", kernel=str(here))


async def test_a_crash_is_an_answer(tmp_path: Path) -> None:
    file = tmp_path / "crash.py"
    file.write_text("import os, triton\nos._exit(7)\n\n@triton.jit\ndef crash(x_ptr):\n    pass\n")
    server = make_server(folders=[tmp_path])
    text = await error_of(server, "inspect", kernel=f"{file}:crash", targets=["h100"])
    assert "exited with 7" in text


@pytest.mark.usefixtures("answering_here")
async def test_many_captures_come_in_pages(tmp_path: Path) -> None:
    for number in range(23):
        shutil.copytree(SOFTMAX, tmp_path / f"copy-{number}")
    server = make_server(folders=[tmp_path])
    reports, following = list[Any](), dict[str, Any]()
    while following is not None:
        page = await answer(server, "inspect", kernel=str(tmp_path), format="json", **following)
        reports += page["untrusted"]["reports"]
        following = page["next"]
    kernels = [report["kernel"] for report in reports if "kernel" in report]
    assert kernels == ["softmax_kernel"] * 23


def received(process: subprocess.Popen[bytes], seconds: float) -> dict[str, Any]:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], seconds)
    assert ready, "no answer"
    message: dict[str, Any] = json.loads(process.stdout.readline())
    return message


def test_half_a_surrogate_pair_gets_an_answer_and_blocks_no_call(tmp_path: Path) -> None:
    called = (
        '{"jsonrpc":"2.0","id":%d,"method":"tools/call",'
        '"params":{"name":"explain","arguments":{"name":"%s"}}}\n'
    )
    names = ["\\ud800", "\\ud83d\\ude00", "\\\\ud800", "\\udc00\\ud800x"]
    command = [sys.executable, "-m", "irlens", "mcp", str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        begin(process.stdin)
        for each in enumerate(names, 1):
            process.stdin.write((called % each).encode())
        process.stdin.flush()
        answers = {m["id"]: m for m in (received(process, 90) for _ in range(5))}
        process.stdin.close()
    texts = [json.loads(answers[n]["result"]["content"][0]["text"]) for n in range(1, 5)]
    shown = [each["untrusted"]["error"].rpartition("'")[0].partition("'")[2] for each in texts]
    assert shown == ["\ufffd", "\U0001f600", "\\ud800", "\ufffd\ufffdx"]


def test_a_line_that_is_no_request_gets_an_answer(tmp_path: Path) -> None:
    lines = {
        1: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
        + "[" * 9999
        + "]" * 9999
        + "}",
        "b": '{"jsonrpc":"2.0","id":"b","method":"ping","params":{"n":' + "9" * 6000 + "}}",
        3: '[{"jsonrpc":"2.0","id":3,"method":"ping"}]',
        None: "\n\x00 nothing of the kind",
    }
    command = [sys.executable, "-m", "irlens", "mcp", str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        begin(process.stdin)
        process.stdin.write("".join(f"{each}\n" for each in lines.values()).encode())
        process.stdin.flush()
        answers = {m["id"]: m for m in (received(process, 90) for _ in range(5))}
        process.stdin.close()
    assert all(answers[each]["error"]["code"] == -32700 for each in lines)


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("inspect", {"kernel": {"a": 1}}, "inspect: kernel: Input should be a valid string"),
        ("read_stage", {"kernel": "k", "stage": "ptx", "lines": "1-9"}, "read_stage: lines: "),
        ("nothing", {}, "Unknown tool: nothing"),
    ],
)
async def test_what_the_library_refuses_is_json_too(
    tool: str, arguments: dict[str, Any], says: str
) -> None:
    async with Client(make_server()) as client:
        refused = await client.call_tool(tool, arguments)
    assert refused.is_error
    told = json.loads(refused.content[0].text)["untrusted"]["error"]  # type: ignore[union-attr]
    assert told.startswith(says)
    assert "pydantic" not in told


@pytest.mark.parametrize("ends", ["killed", "closed", "cancelled"])
def test_a_call_ends_with_its_server_and_its_request(ends: str, slow: Path) -> None:
    command = [sys.executable, "-m", "irlens", "mcp", str(slow.parent)]
    arguments = {"kernel": f"{slow}:slow", "targets": ["h100"]}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        begin(process.stdin)
        send(process.stdin, "tools/call", {"name": "inspect", "arguments": arguments}, number=1)
        assert waited(slow.with_name("pid").exists)
        assert waited(lambda: bool(slow.with_name("pid").read_text()))
        pid = int(slow.with_name("pid").read_text())
        if ends == "killed":
            process.kill()
        elif ends == "closed":
            process.stdin.close()
        else:
            send(process.stdin, "notifications/cancelled", {"requestId": 1})
        assert waited(lambda: not runs(pid))
        process.kill()


def waited(until: Callable[[], bool], seconds: float = 60) -> bool:
    deadline = time.monotonic() + seconds
    while not until() and time.monotonic() < deadline:
        time.sleep(0.1)
    return until()


def send(
    stream: IO[bytes], method: str, params: dict[str, Any], *, number: int | None = None
) -> None:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    if number is not None:
        message["id"] = number
    stream.write(json.dumps(message).encode() + b"\n")
    stream.flush()


def begin(stream: IO[bytes]) -> None:
    client = {"name": "test", "version": "1"}
    wanted = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    send(stream, "initialize", wanted, number=0)
    send(stream, "notifications/initialized", {})
