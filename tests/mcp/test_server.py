"""``irlens mcp``, asked by the client of the ``mcp`` package."""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any, TypeAlias

import pytest

pytest.importorskip("mcp.server.mcpserver")

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult, TextContent

from irlens.mcp.roots import Roots
from irlens.mcp.server import make_server
from irlens.mcp.tools import Tools
from irlens.model.errors import IrlensError
from tests.artifacts.test_revisions import git
from tests.running import inline

__all__ = ["inline"]

pytestmark = pytest.mark.usefixtures("inline", "answering_here")

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"
SOFTMAX = str(CAPTURES / "softmax-h100")


Server: TypeAlias = MCPServer | StdioServerParameters


async def ask(server: Server, tool: str, **arguments: Any) -> CallToolResult:
    async with Client(server) as client:
        return await client.call_tool(tool, arguments)


async def answer(
    server: Server, tool: str, *, fails: bool = False, **arguments: Any
) -> dict[str, Any]:
    """Return an answer, which is one JSON object however it ends."""
    result = await ask(server, tool, **arguments)
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert result.is_error == fails, content.text
    answered: dict[str, Any] = json.loads(content.text)
    return answered


async def call(server: Server, tool: str, **arguments: Any) -> str:
    """Return the text of an answer, all pages of it."""
    text, following = "", dict[str, Any]()
    while True:
        answered = await answer(server, tool, **arguments, **following)
        text += str(answered.get("untrusted", answered)["text"])
        following = answered["next"] or {}
        if "cursor" not in following:
            return text


async def report_of(server: Server, **arguments: Any) -> dict[str, Any]:
    answered = await answer(server, "inspect", format="json", **arguments)
    (report,) = answered["untrusted"]["reports"]
    assert answered["next"] is None
    whole: dict[str, Any] = report
    return whole


async def error_of(server: MCPServer, tool: str, **arguments: Any) -> str:
    answered = await answer(server, tool, fails=True, **arguments)
    assert answered["note"].startswith("`untrusted` may quote a capture")
    error = answered["untrusted"]
    return f"{error['error']}\n{error.get('hint', '')}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> MCPServer:
    return make_server(folders=[CAPTURES.parent, tmp_path_factory.getbasetemp()])


async def test_a_parameter_that_a_tool_does_not_have_is_an_error(server: MCPServer) -> None:
    wrong: dict[str, Any] = {"target": "h100", "args": {"n": 1}}
    text = await error_of(server, "variants", kernel=SOFTMAX, **wrong)
    assert "variants: unknown parameter 'target'; unknown parameter 'args'" in text
    assert "for target: did you mean targets?" in text
    assert "ranges" in text.partition("variants takes kernel, ")[2]


async def test_every_tool_is_read_only_and_described(server: MCPServer) -> None:
    async with Client(server) as client:
        tools = (await client.list_tools()).tools
    assert {tool.name for tool in tools} >= {
        "inspect", "capture", "diff", "suggest", "sweep", "check", "explain", "read_stage",
    }  # fmt: skip
    for tool in tools:
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        for name, schema in tool.input_schema["properties"].items():
            assert schema.get("description"), f"{tool.name}: {name}"
        assert "client_roots" not in tool.input_schema["properties"]


async def test_a_scan_selects_sorts_and_names_what_to_ask_for_next(server: MCPServer) -> None:
    asked: dict[str, Any] = {"where": ["registers > 100"], "sort": ["-registers"]}
    answered = await answer(server, "scan", directories=[str(CAPTURES)], format="json", **asked)
    (scan,) = answered["untrusted"]["documents"]
    registers = [row["figures"]["registers"] for row in scan["rows"]]
    assert registers == [255, 168, 128]
    page = await call(server, "scan", directories=[str(CAPTURES)], rows=2, **asked)
    # A path that a reader of Markdown would take for a link stands in backticks.
    path = re.findall(r"[^\s`]*/captures/[^\s`]+", page)[0]
    assert "255" in await call(server, "inspect", kernel=path)


async def test_a_scan_of_what_is_no_folder_of_the_server_is_one_line(server: MCPServer) -> None:
    assert "is outside of the folders" in await error_of(server, "scan", directories=["/etc"])
    assert "at least one directory" in await error_of(server, "scan", directories=[])


async def test_a_scan_names_the_entries_that_it_skips(server: MCPServer, tmp_path: Path) -> None:
    shutil.copytree(SOFTMAX, tmp_path / "whole")
    for number in range(25):
        shutil.copytree(SOFTMAX, broken := tmp_path / f"broken{number}")
        for file in broken.glob("*.json"):
            file.write_text("{")
    answered = await answer(server, "scan", directories=[str(tmp_path)])
    notes = answered["untrusted"]["notes"]
    assert len(notes) == 21
    assert "broken" in notes[0]
    assert notes[-1] == "25 skipped, 20 of them shown"


async def test_inspect_answers_as_the_command_does(server: MCPServer) -> None:
    report = await report_of(server, kernel=SOFTMAX)
    assert report["kernel"] == "softmax_kernel"
    text = await call(server, "inspect", kernel=SOFTMAX, details=["pipelines"])
    assert f"{report['resources']['registers']}" in text
    assert "cp.async" in text


async def test_many_captures_are_rows(server: MCPServer) -> None:
    rows = await call(server, "inspect", kernel=str(CAPTURES), format="csv")
    assert len(rows.splitlines()) > 5


async def test_a_kernel_is_compiled_by_name_and_compared(
    server: MCPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The store of all tests may have its captures below a link, which the server does not follow.
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "store"))
    listed = await answer(
        server, "capture", kernel="softmax", targets="a100", settings={"num_stages": 2}
    )
    (captured,) = listed["untrusted"]["captures"]
    assert captured["config"]["num_stages"] == 2
    directory = captured["directory"]
    assert Path(directory).is_dir()
    compared = await call(
        server, "diff", before="softmax", targets=["a100"], settings={"num_stages": [2, 4]}
    )
    assert "12,320" in compared
    code = await call(
        server, "diff", before=directory, after="softmax", targets=["a100"],
        settings={"num_stages": 4}, stages=["ptx"],
    )  # fmt: skip
    assert "cp.async.wait_group" in code


async def test_stages_are_read_by_line_ranges(server: MCPServer) -> None:
    lines = (CAPTURES / "softmax-h100").glob("*.ptx")
    text = next(lines).read_text().splitlines()
    answered = await answer(server, "read_stage", kernel=SOFTMAX, stage="ptx", first=11, lines=3)
    assert answered["next"] == {"first": 14}
    title, *shown = answered["untrusted"]["text"].splitlines()
    assert title.endswith(f"lines 11 to 13 of {len(text)}")
    assert [line[8:] for line in shown] == [line.rstrip() for line in text[10:13]]
    annotated = await call(
        server, "read_stage", kernel=SOFTMAX, stage="ptx", lines=1000, annotate=True
    )
    assert "live" in annotated
    assert "wait" in annotated


async def test_a_stage_is_searched(server: MCPServer) -> None:
    found = await call(
        server, "search_stage", kernel=SOFTMAX, stage="ptx", pattern=r"cp\.async\.commit"
    )
    title, *lines = found.splitlines()
    assert f"{len(lines)} matching lines" in title
    assert lines
    assert all("cp.async.commit_group" in line for line in lines)
    message = await error_of(server, "search_stage", kernel=SOFTMAX, stage="ptx", pattern="(")
    assert "invalid pattern '('" in message


async def test_a_python_line_is_followed_to_every_stage(server: MCPServer) -> None:
    followed = await call(server, "source_line", kernel=SOFTMAX, line="49")
    assert "ttgir" in followed
    assert "ptx" in followed


async def test_explanations_and_lists(server: MCPServer) -> None:
    assert "IRL201" in await call(server, "explain", name="IRL201")
    assert "softmax" in (await call(server, "kernels")).splitlines()
    assert "h100: sm_90" in await call(server, "targets")


@pytest.fixture
def cache_entry(tmp_path: Path) -> str:
    """Return a capture without what irlens knows of its launch, as Triton's cache has it."""
    entry = tmp_path / "entry"
    shutil.copytree(SOFTMAX, entry)
    (entry / "irlens.json").unlink()
    return str(entry)


async def test_a_cache_entry_gets_its_launch(server: MCPServer, cache_entry: str) -> None:
    bare = await report_of(server, kernel=cache_entry)
    assert (bare["traffic"], bare["time"]) == (None, None)
    launch: dict[str, Any] = {
        "args": {
            "input_ptr": "fp32[4096, 1024]", "output_ptr": "fp32[4096, 1024]", "n_rows": 4096,
            "input_row_stride": 1024, "output_row_stride": 1024, "n_cols": 1024,
        },
        "grid": ["n_rows // 4"],
        "targets": ["h200"],
    }  # fmt: skip
    report = await report_of(server, kernel=cache_entry, **launch)
    assert report["config"]["grid"] == [1024, 1, 1]
    assert report["target"]["product"] == "h200"
    assert report["traffic"]["read_bytes"] == report["traffic"]["written_bytes"] == 4 * 4096 * 1024
    assert report["time"]["estimate_us"] > report["roofline"]["floor_us"] > 0
    assert "Memory" in await call(server, "inspect", kernel=cache_entry, **launch)
    wrong = {**launch, "args": {"nonesuch": 1}}
    assert "nonesuch" in await error_of(server, "inspect", kernel=cache_entry, **wrong)


async def test_a_grid_of_a_kernel_that_is_compiled_by_name(server: MCPServer) -> None:
    report = await report_of(server, kernel="softmax", targets=["h200"], grid=[64])
    assert report["config"]["grid"] == [64, 1, 1]
    assert report["traffic"]["read_bytes"] == 4 * 4096 * 1024


async def test_only_inspect_takes_the_launch_of_what_is_compiled(
    server: MCPServer, cache_entry: str
) -> None:
    for tool, arguments in (("capture", {}), ("read_stage", {"stage": "ttir"})):
        text = await error_of(server, tool, kernel=cache_entry, args={"n_rows": 1}, **arguments)
        assert "already compiled" in text
    settings = {"num_stages": 2}
    text = await error_of(server, "inspect", kernel=cache_entry, settings=settings)
    assert "already compiled" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kernel": "nonesuch"}, "nonesuch"),
        ({"kernel": SOFTMAX, "grid": [4]}, "already compiled"),
        ({"kernel": SOFTMAX, "targets": ["h100"]}, "already compiled"),
        ({"kernel": "softmax", "targets": ["h1000"]}, "h100"),
    ],
)
async def test_a_mistake_is_one_clear_message(
    server: MCPServer, arguments: dict[str, Any], message: str
) -> None:
    text = await error_of(server, "inspect", **arguments)
    assert message in text
    assert "Traceback" not in text


async def test_lines_beyond_the_end_are_an_error(server: MCPServer) -> None:
    text = await error_of(server, "read_stage", kernel=SOFTMAX, stage="ttir", first=100000)
    assert "so no line 100000" in text


async def test_without_compiling_only_captures_are_read() -> None:
    server = make_server(compiles=False, folders=[CAPTURES])
    assert "only reads captures" in await error_of(server, "inspect", kernel="softmax")
    assert "softmax_kernel" in await call(server, "inspect", kernel=SOFTMAX)


@pytest.mark.parametrize("compiles", [False, True])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("limits", {}),
        ("suggest", {"most": 1}),
        ("sweep", {"args": {"n_cols": [256, 512]}}),
        ("why", {}),
        ("variants", {"ranges": {"n_cols": "1..64"}}),
        ("diff", {"revision": "HEAD"}),
    ],
)
def test_no_tool_compiles_the_source_of_a_capture(
    tool: str, arguments: dict[str, object], compiles: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("irlens.session.recompile.recompilations", None)
    tools = Tools(compiles=compiles, roots=Roots([CAPTURES]))
    with pytest.raises(IrlensError, match="executes nothing that a capture names"):
        getattr(tools, tool)(SOFTMAX, **arguments)


async def test_escape_sequences_do_not_reach_the_agent(server: MCPServer, tmp_path: Path) -> None:
    (tmp_path / "evil.ptx").write_text("// \x1b]0;title\x07\n.version 8.0\n.target sm_90\n")
    shown = await call(server, "read_stage", kernel=str(tmp_path / "evil.ptx"), stage="ptx")
    assert "\x1b" not in shown
    assert r"\x1b]0;title\x07" in shown


async def test_a_grid_of_configurations_is_compiled_and_ranked(server: MCPServer) -> None:
    wanted: dict[str, Any] = {
        "kernel": "vector_add", "targets": ["h200"],
        "settings": {"num_warps": "2..8..x2", "BLOCK_SIZE": "256,512"},
    }  # fmt: skip
    text = await call(server, "sweep", **wanted, where=["BLOCK_SIZE * num_warps <= 2048"])
    assert "num_warps" in text
    found = await answer(server, "sweep", **wanted, rank="time", top=2, format="json")
    (swept,) = found["untrusted"]["documents"]
    assert len(swept["trials"]) == 2
    assert swept["outranked"] is not None


async def test_the_time_over_a_range_of_sizes_is_estimated(server: MCPServer) -> None:
    wanted: dict[str, Any] = {"args": {"n_elements": "4096..1048576"}, "format": "json"}
    found = await answer(server, "sweep", kernel="vector_add", targets=["h100"], **wanted)
    (swept,) = found["untrusted"]["documents"]
    assert (swept["axis"], swept["sizes"]["last"]) == ("n_elements", 1_048_576)
    assert all(each["figures"]["time"] for each in swept["trials"])


async def test_variants_of_a_range_are_listed(server: MCPServer) -> None:
    text = await call(
        server, "variants", kernel="vector_add", targets=["h100"],
        ranges={"n_elements": "1..131072"},
    )  # fmt: skip
    assert "3 variants for 131,072 launches" in text


async def test_findings_are_explained(server: MCPServer) -> None:
    asked = {"kernel": "column_sum", "targets": "h100"}
    text = await call(server, "why", **asked, findings=["stages-not-asked"])
    assert "proved: the finding goes with its cause" in text
    assert "TritonGPUAssignLatencies, pass" in text
    assert "has no finding IRL401" in await error_of(server, "why", **asked, findings=["IRL401"])
    assert "already compiled" in await error_of(server, "why", kernel=SOFTMAX)


async def test_limits_of_a_size_are_found(server: MCPServer) -> None:
    asked = {"kernel": "vector_add", "targets": ["h100"]}
    text = await call(server, "limits", **asked, along=["n_elements=1..5000000000"])
    assert "2,147,483,649" in text
    assert "neither NAME nor" in await error_of(server, "limits", **asked, along=["n_elements=x"])


async def test_a_faster_configuration_is_suggested(server: MCPServer) -> None:
    found = await answer(
        server, "suggest", kernel="vector_add", targets=["h200"], most=2, format="json"
    )
    (suggestion,) = found["untrusted"]["documents"]
    assert "vector_add" in json.dumps(suggestion)
    assert "budget" not in json.dumps(suggestion)


async def test_a_suggestion_ends_with_its_budget(server: MCPServer) -> None:
    found = await answer(
        server, "suggest", kernel="vector_add", targets=["h200"], budget=1e-6, format="json"
    )
    (suggestion,) = found["untrusted"]["documents"]
    assert "budget" in suggestion["stopped"]


async def test_a_project_is_checked_and_no_baseline_written(
    server: MCPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.irlens.check]\nkernels = ["vector_add"]\ntargets = ["h100"]\n'
        '[tool.irlens.budgets]\nvector_add = "registers <= 8"\n'
    )
    monkeypatch.chdir(tmp_path)
    found = await answer(server, "check", format="json")
    (checked,) = found["untrusted"]["documents"]
    assert checked["outcome"] == "failed"
    assert "registers" in await call(server, "check", kernels=["vector_add"], targets=["h100"])
    assert [path.name for path in tmp_path.iterdir()] == ["pyproject.toml"]
    reading = make_server(compiles=False, folders=[tmp_path])
    assert "only reads captures" in await error_of(reading, "check")


async def test_a_file_is_compared_with_a_revision(server: MCPServer, tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text((CAPTURES.parents[1] / "kernels" / "vector_add.py").read_text())
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    file.write_text(file.read_text().replace('"BLOCK_SIZE": 1024', '"BLOCK_SIZE": 512'))
    text = await call(server, "diff", before=str(file), revision="HEAD", targets=["h100"])
    assert "registers" in text
    both = await error_of(server, "diff", before=str(file), after=str(file), revision="HEAD")
    assert "give one" in both


@pytest.mark.slow
async def test_what_a_kernels_file_prints_stays_out_of_the_protocol(tmp_path: Path) -> None:
    file = tmp_path / "noisy.py"
    file.write_text(
        "import os, triton, triton.language as tl\n"
        "print('noise'); os.write(1, b'more noise\\n')\n"
        "@triton.jit\n"
        "def noisy(x_ptr):\n"
        "    tl.store(x_ptr, tl.load(x_ptr) + 1)\n"
    )
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "irlens", "mcp", str(tmp_path)]
    )
    report = await report_of(
        parameters, kernel=f"{file}:noisy", targets=["h100"], args={"x_ptr": "fp32[16]"}
    )
    assert report["kernel"] == "noisy"
