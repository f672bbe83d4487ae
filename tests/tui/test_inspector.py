"""The inspector, key by key, over the samples."""

import threading
from collections.abc import Callable

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot
from textual.widgets import Static

from irlens.model.capture import Disassembly
from irlens.model.errors import ToolError
from irlens.model.listing import StageListing
from irlens.model.report import Report
from irlens.model.source import SourceLocation, Span
from irlens.session.interactive import Workbench
from irlens.tui.app import IrlensApp
from irlens.tui.code.search import Hit, Query
from irlens.tui.screens.inspector import InspectorScreen as View
from irlens.tui.widgets.code_pane import CodePane
from irlens.tui.widgets.heading import LineFacts
from irlens.tui.widgets.prompt import Prompt
from tests.tui.conftest import FakeWorkbench, Late, load_report
from tests.tui.opening import SIZE, inspecting, messages, screen_text
from tests.tui.waiting import settle, until

LOAD = "row = tl.load("


def shown(view: View) -> list[str]:
    return [pane.showing for pane in view.panes.panes]


def active(view: View) -> CodePane:
    pane = view.panes.active
    assert pane is not None
    return pane


def facts(view: View) -> str:
    return str(view.query_one("#facts", Static).content)


def note(pane: CodePane) -> str:
    """What a pane shows instead of code."""
    return " ".join(pane.render_line(y).text.strip() for y in range(4)).strip()


async def press(pilot: Pilot[None], keys: str) -> None:
    await pilot.press(*keys.split())
    await settle(pilot)


async def go_to_load(view: View, pilot: Pilot[None]) -> int:
    """Put the cursor on the load in Python, and return its line."""
    python = view.panes.panes[0]
    assert python.document is not None
    line = next(at for at, text in enumerate(python.document.text.lines, 1) if LOAD in text)
    await press(pilot, f"colon {' '.join(str(line))} enter")
    assert active(view) is python
    assert python.line == line
    return line


@pytest.mark.parametrize(
    ("size", "key", "panes"),
    [
        ((80, 24), "softmax-h100", ["softmax.py", "ptx"]),
        ((120, 40), "softmax-mi300x", ["softmax.py", "amdgcn"]),
        ((200, 60), "softmax-h100", ["softmax.py", "ttgir", "ptx"]),
        ((250, 60), "softmax-h100", ["softmax.py", "ttgir", "llir", "ptx"]),
        ((250, 60), "softmax-mi300x", ["softmax.py", "ttgir", "llir", "amdgcn"]),
    ],
)
async def test_opens_python_beside_the_lowest_stage(
    bench: Workbench, size: tuple[int, int], key: str, panes: list[str]
) -> None:
    async with inspecting(bench, key, size) as (view, _):
        assert shown(view) == panes
        assert "def softmax_kernel(" in active(view).cursor.text
        assert all(pane.document is not None for pane in view.panes.panes)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (250, 60)])
@pytest.mark.parametrize("key", ["softmax-h100", "matmul_tma-h100", "softmax-mi300x"])
async def test_opens_where_the_kernel_begins(
    bench: Workbench, key: str, size: tuple[int, int]
) -> None:
    async with inspecting(bench, key, size) as (view, pilot):
        python, *stages = view.panes.panes
        assert python.cursor.text.startswith(f"def {bench.kernel(key)}(")
        for pane in view.panes.panes:
            assert pane.document is not None
            seen = pane.visible_lines
            assert pane.document.begin in (seen if seen[-1] == pane.cursor.rows[-1] else seen[:3])
        for pane in stages:
            assert pane.linked
            # In LLVM IR nothing but the kernel's end belongs to the line of its definition.
            if pane.showing == "llir":
                assert pane.document is not None
                assert pane.line == pane.document.begin
            else:
                assert pane.line in pane.linked
        await press(pilot, "tab")
        for stage in bench.stages(key)[:-1]:
            pane = active(view)
            assert pane.document is not None
            assert pane.line == pane.document.begin, stage
            await press(pilot, "s")


async def test_a_line_of_python_brings_every_stage_to_its_lines(bench: Workbench) -> None:
    async with inspecting(bench, size=(250, 60)) as (view, pilot):
        line = await go_to_load(view, pilot)
        assert facts(view).startswith(f"softmax.py:{line}")
        for pane in view.panes.panes[1:]:
            assert pane.document is not None
            assert pane.linked
            assert pane.line in pane.linked
            assert pane.line in pane.visible_lines
            for at in pane.linked:
                files = {(place.file, place.line) for place in pane.document.chain(at)}
                assert ("softmax.py", line) in files


async def test_a_line_of_a_stage_brings_python_and_the_other_stages_to_it(bench: Workbench) -> None:
    async with inspecting(bench, size=(200, 60)) as (view, pilot):
        python, ttgir, ptx = view.panes.panes
        await press(pilot, "tab tab right_parenthesis")
        assert active(view) is ptx
        assert "cp.async" in ptx.cursor.text
        assert LOAD in python.cursor.text
        assert ttgir.linked
        assert ttgir.line in ttgir.linked


async def test_the_chain_of_inlined_functions_is_shown(bench: Workbench) -> None:
    async with inspecting(bench) as (view, pilot):
        await press(pilot, "tab slash s h f l enter")
        assert "shfl.sync" in active(view).cursor.text
        chain = facts(view).splitlines()[0].split(" ▸ ")
        assert chain[0].startswith("softmax.py:")
        assert chain[1].startswith("standard.py:")
        assert "tl." in view.panes.panes[0].cursor.text


async def test_the_panes_keep_their_height_while_the_cursor_moves(bench: Workbench) -> None:
    async with inspecting(bench, "softmax-mi300x", size=(100, 30)) as (view, pilot):
        before = view.panes.size.height
        await press(pilot, "tab right_parenthesis m")
        told = facts(view).splitlines()
        assert told[1].startswith("○ wait for what begins at ")
        loop = next(line for line in told if line.startswith("loop "))
        assert loop.endswith("depth 1"), "what is known is not told in halves"
        height = view.panes.size.height
        assert height < before
        await press(pilot, "g")
        assert view.panes.size.height == height
        await pilot.resize_terminal(160, 30)
        await settle(pilot)
        assert view.panes.size.height == before
        await press(pilot, "right_parenthesis m")
        await pilot.resize_terminal(60, 30)
        await settle(pilot)
        height = view.panes.size.height
        assert height < before
        await press(pilot, "g")
        assert view.panes.size.height == height


async def test_places_of_a_line_are_gone_through(bench: Workbench) -> None:
    async with inspecting(bench) as (view, pilot):
        await go_to_load(view, pilot)
        await press(pilot, "tab")
        pane, begun = active(view), active(view).line
        places = pane.places
        assert len(places) > 2
        await press(pilot, "right_square_bracket")
        assert pane.line in places
        assert pane.line != begun
        assert pane.places == places
        await press(pilot, "left_square_bracket")
        assert pane.line == begun


async def test_a_commit_leads_to_its_wait_and_back(bench: Workbench) -> None:
    async with inspecting(bench) as (view, pilot):
        await press(pilot, "tab slash c o m m i t enter")
        commit = active(view).line
        assert "cp.async.commit_group" in active(view).cursor.text
        assert "● commit, waited for at " in facts(view)
        await press(pilot, "m")
        assert "cp.async.wait_group" in active(view).cursor.text
        assert "○ wait for what is committed at " in facts(view)
        await press(pilot, "ctrl+o")
        assert active(view).line == commit


async def test_a_wait_for_copies_of_other_warps_belongs_to_a_group(
    bench: FakeWorkbench,
) -> None:
    name = "specialized-h100-4"
    bench.reports[name] = load_report(name)
    async with inspecting(bench, name) as (view, pilot):
        await press(pilot, "tab right_parenthesis")
        assert "○ wait " in facts(view)
        await press(pilot, "m")
        assert messages(view.app) == ["the other end of this wait is unknown"]


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ("f", "has no findings"),
        ("right_curly_bracket", "has no loops"),
        ("m", "belongs to no pipelined group"),
        ("d", "known in stages, not in Python"),
        ("ctrl+o ctrl+o", "no jump to go back from"),
        ("colon x enter", "is not a line number"),
        ("colon " + "9 " * 19 + "enter", "is not a line number"),
        ("slash q q enter", "no match for qq"),
        ("0 Y", "no name under the cursor"),
    ],
)
async def test_an_impossible_action_is_reported(bench: Workbench, keys: str, told: str) -> None:
    async with inspecting(bench) as (view, pilot):
        await go_to_load(view, pilot)
        await press(pilot, keys)
        assert told in " ".join(messages(view.app))


@pytest.mark.parametrize(
    ("key", "keys", "sign"),
    [
        ("softmax-t4", "f", "▲ IRL203 "),
        ("softmax-h100", "tab p", " live virtual registers, peak "),
        ("softmax-h100", "tab right_curly_bracket", "loop "),
        ("softmax-h100", "tab right_parenthesis", "↓ copy, its group is committed at "),
    ],
)
async def test_jumps_lead_to_landmarks(bench: Workbench, key: str, keys: str, sign: str) -> None:
    async with inspecting(bench, key) as (view, pilot):
        begun = [pane.line for pane in view.panes.panes]
        await press(pilot, keys)
        assert sign in facts(view)
        pane = active(view)
        assert pane.line not in begun
        assert pane.line in pane.visible_lines
        if keys.endswith("p"):
            assert pane.document is not None
            assert pane.document.live(pane.line) == pane.document.listing.peak


@pytest.mark.parametrize(
    ("key", "code", "word"),
    [
        ("matmul_tma-h100", "wgmma.mma_async", "product"),
        ("matmul-b200", "tcgen05.mma", "product"),
        ("softmax-mi300x", "buffer_load", "load"),
        ("softmax-h100", "cp.async.cg", "copy"),
    ],
)
async def test_asynchronous_operations_are_named(
    bench: Workbench, key: str, code: str, word: str
) -> None:
    async with inspecting(bench, key) as (view, _):
        document = view.panes.panes[1].document
        assert document is not None
        marked = [mark for line, mark in document.marks.items() if mark.role == "copy"]
        words = {
            document.role(mark) for mark in marked if code in document.text.lines[mark.line - 1]
        }
        assert words == {word}


async def test_a_word_that_is_not_a_name_is_reported(bench: Workbench) -> None:
    async with inspecting(bench) as (_, pilot):
        await press(pilot, "tab p d")
        assert "is not a register, value or label" in messages(pilot.app)[-1]


async def test_previous_jumps_go_backwards(bench: Workbench) -> None:
    async with inspecting(bench) as (view, pilot):
        await press(pilot, "tab right_parenthesis right_parenthesis")
        second = active(view).line
        await press(pilot, "left_parenthesis right_parenthesis")
        assert active(view).line == second
        for key in ("left_curly_bracket", "F"):
            await press(pilot, key)


async def test_a_name_leads_to_its_definition_and_its_uses(bench: Workbench) -> None:
    async with inspecting(bench) as (view, pilot):
        await press(pilot, "tab slash s e t p . g e enter w w w")
        pane = active(view)
        name, used = pane.cursor.word, pane.line
        await press(pilot, "w d")
        assert pane.line < used
        name = pane.cursor.word
        assert name.startswith("%r")
        defined = pane.line
        await press(pilot, "u")
        assert pane.cursor.word == name
        assert pane.line > defined
        await press(pilot, "U")
        await press(pilot, "ctrl+o ctrl+o")
        assert pane.line == defined


async def test_jumps_are_gone_back_and_forward(bench: Workbench) -> None:
    async with inspecting(bench) as (view, pilot):
        await press(pilot, "tab")
        pane, places = active(view), []
        for keys in ("p", "right_parenthesis", "right_curly_bracket", "colon 1 0 0 enter"):
            places.append(pane.position)
            await press(pilot, keys)
        places.append(pane.position)
        assert len(set(places)) == 5
        for back, place in zip(("ctrl+o", "alt+left", "ctrl+o"), places[-2::-1], strict=False):
            await press(pilot, back)
            assert pane.position == place
        for forward, place in zip(("ctrl+n", "alt+right"), places[2:], strict=False):
            await press(pilot, forward)
            assert pane.position == place
        await press(pilot, "g k p ctrl+n")
        assert "forward" in messages(pilot.app)[-1], "a jump begins anew"


async def test_jumping_back_restores_the_document(bench: Workbench) -> None:
    async with inspecting(bench) as (view, pilot):
        await press(pilot, "tab p")
        pane = active(view)
        place = pane.position
        await press(pilot, "colon 4 0 enter s")
        other = pane.showing, pane.position
        assert pane.showing != "ptx"
        await press(pilot, "ctrl+o")
        assert (pane.showing, pane.position) == ("ptx", place)
        await press(pilot, "ctrl+n")
        assert (pane.showing, pane.position) == other


async def test_search_is_incremental_and_cancelling_returns(
    bench: Workbench,
) -> None:
    async with inspecting(bench) as (view, pilot):
        await press(pilot, "tab g slash m a x")
        pane = active(view)
        assert "max" in pane.cursor.text
        found = pane.position
        await press(pilot, "escape")
        assert pane.has_focus
        assert pane.line == 1
        await press(pilot, "slash m a x enter n")
        assert pane.position > found
        assert pane.border_subtitle is not None
        assert str(pane.border_subtitle).startswith("match 2/")
        await press(pilot, "N")
        assert pane.position == found
        await press(pilot, "escape")
        assert pane.search.query is None
        assert pilot.app.screen is view


async def test_a_search_counts_while_it_is_typed(bench: Workbench) -> None:
    async with inspecting(bench) as (view, pilot):
        await press(pilot, "tab g slash c o m m i t _ g r o u p")
        pane = active(view)
        assert pane.document is not None
        text = "\n".join(pane.document.text.shown)
        total = text.count("commit_group")
        assert str(pane.border_subtitle).startswith(f"match 1/{total} ")
        await press(pilot, "enter n n")
        assert str(pane.border_subtitle).startswith(f"match 3/{total} ")
        await press(pilot, "N")
        assert str(pane.border_subtitle).startswith(f"match 2/{total} ")
        await press(pilot, "slash c o m m i t left_parenthesis enter")
        told = messages(pilot.app)[-1]
        assert "no match for commit(" in told
        assert "not a regular expression: missing )" in told


async def test_no_key_waits_for_a_search_and_escape_ends_it(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = []

    def endless(self: Query, lines: object, stop: threading.Event) -> list[Hit]:
        stopped.append(stop.wait(30))
        return [(1, 0)]

    monkeypatch.setattr(Query, "hits", endless)
    async with inspecting(bench) as (view, pilot):
        await press(pilot, "tab colon 5 0 enter")
        pane = active(view)
        await pilot.press("slash", "x", "y")
        assert "searching" in str(pane.border_subtitle)
        await pilot.press("escape")
        await settle(pilot)
        assert stopped == [True] * 4, "two queries in two panes"
        assert (pane.search.query, pane.line) == (None, 50)
        await pilot.press("slash", "x", "enter", "j", "n")
        assert pane.line == 51, "what is not found yet is not gone to"
        assert "searching" in str(pane.border_subtitle)
        await pilot.press("escape")
        await settle(pilot)
        assert (pane.search.query, pane.line) == (None, 51)


async def test_a_search_covers_all_panes(bench: Workbench) -> None:
    async with inspecting(bench) as (view, pilot):
        python, ptx = view.panes.panes
        begun = python.line
        await press(pilot, "slash")
        assert view.query_one(Prompt).placeholder.endswith(" in softmax.py and ptx")
        await press(pilot, "s h f l")
        assert "shfl" in ptx.cursor.text, "it leads to the pane that has a match"
        assert python.line == begun
        await press(pilot, "enter")
        assert active(view) is ptx
        assert ptx.has_focus
        assert "shfl" in ptx.cursor.text
        assert "no match" in str(python.border_subtitle)
        await press(pilot, "ctrl+o")
        assert (active(view), python.line) == (python, begun)
        await press(pilot, "escape")
        assert [pane.search.query for pane in view.panes.panes] == [None, None]


async def test_a_pane_that_returns_takes_no_other_from_its_match(bench: Workbench) -> None:
    async with inspecting(bench) as (view, pilot):
        python, ptx = view.panes.panes
        begun = python.line
        await press(pilot, "slash t l . l o a d")
        assert python.line != begun
        view.query_one(Prompt).value = "shfl"  # as pasted over it
        await settle(pilot)
        assert python.line == begun
        assert "shfl" in ptx.cursor.text


async def test_matches_are_gone_through_from_pane_to_pane(bench: Workbench) -> None:
    async with inspecting(bench) as (view, pilot):
        python, ptx = view.panes.panes
        await press(pilot, "g slash m a x enter")
        found = [len(pane.search.hits) for pane in (python, ptx)]
        assert min(found) > 0
        visited = []
        for _ in range(sum(found)):
            visited.append((active(view), active(view).position))
            await press(pilot, "n")
        assert len(set(visited)) == sum(found), "every match of every pane once"
        assert (active(view), active(view).position) == visited[0]
        await press(pilot, "N")
        assert (active(view), active(view).position) == visited[-1]


@pytest.mark.parametrize("key", ["softmax-h100", "softmax-mi300x", "spill-h100", "matmul-b200"])
async def test_the_peak_is_found_from_python_in_the_stage_too(bench: Workbench, key: str) -> None:
    async with inspecting(bench, key) as (view, pilot):
        python, stage = view.panes.panes
        await press(pilot, "p")
        assert active(view) is python
        assert python.document is not None
        assert stage.document is not None
        assert python.document.live(python.line) == python.document.listing.peak
        assert stage.document.live(stage.line) == stage.document.listing.peak
        assert stage.line in stage.visible_lines
        if python.document.listing.peak == stage.document.listing.peak:
            assert stage.line in stage.linked, "where the line of Python has it"


async def test_lines_that_go_on_are_marked(bench: Workbench) -> None:
    async with inspecting(bench, size=(80, 24)) as (view, pilot):
        await press(pilot, "tab p")
        for pane in view.panes.panes:
            assert pane.document is not None
            room = pane.scrollable_content_region.width - pane.gutter_width
            for y, line in enumerate(pane.visible_lines):
                text = pane.document.text.shown[line - 1]
                left = round(pane.scroll_x)
                drawn = pane.render_line(y).text
                assert drawn.endswith("›") == (len(text) > left + room), (text, drawn)
                assert (drawn[pane.gutter_width] == "‹") == bool(text[:left].strip())
        await press(pilot, "dollar_sign")
        assert active(view).scroll_x > 0
        pane = active(view)
        assert "‹" in pane.render_line(list(pane.visible_lines).index(pane.line)).text


async def test_facts_that_do_not_fit_are_marked(bench: FakeWorkbench) -> None:
    async with inspecting(bench, "softmax-mi300x", size=(60, 24)) as (view, pilot):
        await press(pilot, "tab right_parenthesis m")
        widget = view.query_one(LineFacts)
        many = [f"fact {number} of many" for number in range(40)]
        widget.show("where", many)
        shown_rows = str(widget.content).splitlines()
        assert len(shown_rows) == 5
        assert shown_rows[-1].endswith(" …")
        assert all(len(row) <= widget.content_size.width for row in shown_rows)


async def test_n_without_a_search_asks_for_one(bench: Workbench) -> None:
    async with inspecting(bench) as (view, pilot):
        await press(pilot, "n")
        assert view.focused is not None
        assert view.focused.id != "facts"
        await press(pilot, "escape")
        assert active(view).has_focus


async def test_stages_and_files_are_gone_through(bench: Workbench) -> None:
    async with inspecting(bench) as (view, pilot):
        await press(pilot, "tab s")
        stages = ["source", "ttir", "ttgir", "llir", "ptx", "metadata"]
        assert shown(view) == ["softmax.py", "metadata"]
        for name in stages:
            await press(pilot, "s")
            assert shown(view) == ["softmax.py", name]
            assert active(view).document is not None
        await press(pilot, "S S")
        assert shown(view)[1] == "llir"


async def test_beside_the_only_file_of_python_the_stage_changes(bench: Workbench) -> None:
    async with inspecting(bench) as (view, pilot):
        await press(pilot, "s")
        assert shown(view) == ["softmax.py", "metadata"]
        assert active(view).showing == "softmax.py"
        await press(pilot, "a shift+tab shift+tab S")
        assert shown(view) == ["softmax.py", "ptx", "ttgir"]
        assert active(view).showing == "softmax.py"
        await press(pilot, "z s")
        assert shown(view) == ["softmax.py", "ptx", "ttgir"]
        assert "no pane with a stage" in " ".join(messages(view.app))


async def test_another_stage_opens_at_the_same_place(bench: Workbench) -> None:
    async with inspecting(bench) as (view, pilot):
        line = await go_to_load(view, pilot)
        await press(pilot, "tab S S")
        pane = active(view)
        assert pane.showing == "ttgir"
        assert pane.document is not None
        assert ("softmax.py", line) in {(at.file, at.line) for at in pane.document.chain(pane.line)}
        assert view.panes.panes[0].line == line


async def test_panes_are_added_and_closed_and_remembered(bench: Workbench) -> None:
    async with inspecting(bench, size=(160, 40)) as (view, pilot):
        await press(pilot, "x x x x")
        assert len(shown(view)) == 1
        await press(pilot, "a a")
        assert len(set(shown(view))) == 3
        kept = view.context.preferences.layout["inspector.panes"].split(",")
        assert kept == [name for name in shown(view) if name != "softmax.py"]
        await press(pilot, "a a a")
        assert len(shown(view)) == 4
        assert "no room" in " ".join(messages(view.app))


async def test_panes_are_made_wider_and_shown_alone(bench: Workbench) -> None:
    async with inspecting(bench) as (view, pilot):
        pane = active(view)
        width = pane.size.width
        await press(pilot, "greater_than_sign greater_than_sign")
        assert pane.size.width > width
        await press(pilot, "less_than_sign less_than_sign less_than_sign")
        assert pane.size.width < width
        await press(pilot, "z")
        assert pane.size.width > 110
        await press(pilot, "z")
        assert pane.size.width < width


async def test_a_pane_shown_alone_can_be_searched_and_left(bench: Workbench) -> None:
    async with inspecting(bench) as (view, pilot):
        await press(pilot, "tab z slash m a x")
        ptx = active(view)
        assert view.query_one(Prompt).region.height == 1
        assert str(ptx.border_subtitle).startswith("match ")
        await press(pilot, "enter tab")
        assert active(view) is ptx, "there is no other pane to go to"
        assert facts(view)
        await press(pilot, "colon s o f t m a x full_stop p y colon 5 0 enter")
        python = active(view)
        assert python is not ptx
        assert python.line == 50
        assert (python.size.width > 110, ptx.display) == (True, False)
        await press(pilot, "z")
        assert all(pane.display for pane in view.panes.panes)


async def test_remembered_panes_are_shown_if_they_fit(bench: Workbench) -> None:
    for width, panes in ((80, 2), (120, 3), (250, 5)):
        app = IrlensApp(bench)
        app.context.preferences.layout["inspector.panes"] = "ttir,ttgir,llir,ptx"
        async with app.run_test(size=(width, 40)) as pilot:
            app.show_view("inspector", "softmax-h100")
            await settle(pilot)
            assert isinstance(app.screen, View)
            assert len(app.screen.panes.panes) == panes


async def test_lines_without_code_come_and_go(bench: Workbench) -> None:
    async with inspecting(bench) as (view, pilot):
        await press(pilot, "tab")
        pane = active(view)
        assert "hidden" in str(pane.border_subtitle)
        rows = len(pane.cursor.rows)
        await press(pilot, "i")
        assert len(pane.cursor.rows) > rows
        assert "hidden" not in str(pane.border_subtitle)


async def test_copies(bench: Workbench) -> None:
    async with inspecting(bench) as (view, pilot):
        await go_to_load(view, pilot)
        await press(pilot, "y")
        assert LOAD in view.app.clipboard
        await press(pilot, "J y")
        assert len(view.app.clipboard.splitlines()) == 2
        await press(pilot, "k Y")
        assert view.app.clipboard == "row"


async def test_the_user_s_own_programs_need_a_terminal(bench: Workbench) -> None:
    async with inspecting(bench) as (view, pilot):
        await press(pilot, "e v")
        told = messages(view.app)
        assert told == ["no terminal to open the editor in",
                        "no terminal to open the pager in"]  # fmt: skip


@pytest.mark.parametrize(
    ("at", "showing", "line"),
    [
        (SourceLocation("softmax.py", 50), "softmax.py", 50),
        (Span("ttgir", 20, 21), "ttgir", 20),
        (Span("ptx", 100, 100), "ptx", 100),
    ],
)
async def test_other_views_send_it_to_a_place(
    bench: Workbench, at: SourceLocation | Span, showing: str, line: int
) -> None:
    app = IrlensApp(bench)
    async with app.run_test(size=SIZE) as pilot:
        for _ in range(2):  # when it is made, and when it is there already
            app.show_view("inspector", "softmax-h100", at)
            await settle(pilot)
            assert isinstance(app.screen, View)
            pane = active(app.screen)
            assert (pane.showing, pane.line) == (showing, line)
            await press(pilot, "g")


async def test_a_stage_that_cannot_be_read_says_why_and_the_rest_goes_on(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = bench.listing

    def failing(key: str, stage: str, *, annotated: bool = True) -> StageListing:
        if stage == "metadata":
            raise ToolError("nvdisasm \x1b failed", hint="install it")
        return listing(key, stage, annotated=annotated)

    monkeypatch.setattr(bench, "listing", failing)
    async with inspecting(bench) as (view, pilot):
        await press(pilot, "tab s")
        pane = active(view)
        assert pane.document is None
        assert "nvdisasm \\x1b failed; install it" in note(pane)
        assert note(pane).startswith("metadata cannot be shown: ")
        assert "press s for another stage" in note(pane)
        await press(pilot, "j p m d slash y e")
        await press(pilot, "s")
        assert pane.document is not None


async def test_an_empty_stage_says_so_and_what_to_do(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = bench.listing

    def emptied(key: str, stage: str, *, annotated: bool = True) -> StageListing:
        found = listing(key, stage, annotated=annotated)
        return replace(found, text="\n", chain=[], live=[]) if stage == "ptx" else found

    monkeypatch.setattr(bench, "listing", emptied)
    async with inspecting(bench) as (view, pilot):
        await press(pilot, "tab")
        pane = active(view)
        assert pane.document is None
        assert note(pane) == (
            "ptx is empty: the compiler left nothing press s for another stage, 1 for the figures"
        )
        await press(pilot, "j p d s")
        assert pane.document is not None


async def test_a_stage_of_debug_information_alone_is_shown(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = bench.listing

    def without_code(key: str, stage: str, *, annotated: bool = True) -> StageListing:
        found = listing(key, stage, annotated=annotated)
        bare = replace(found, text="// a comment\n.loc 1 2 3\n", chain=[-1, -1], live=[])
        return bare if stage == "ptx" else found

    monkeypatch.setattr(bench, "listing", without_code)
    async with inspecting(bench) as (view, pilot):
        await press(pilot, "tab")
        assert "// a comment" in active(view).render_line(0).text


async def test_a_saved_report_says_that_it_has_no_code(
    bench: FakeWorkbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "stages", lambda _: ())
    monkeypatch.setattr(bench, "python", lambda _: {})
    async with inspecting(bench) as (view, pilot):
        told = str(view.panes.query_one(Static).content)
        assert told.startswith("no code to show: a saved report has figures alone")
        assert "open the capture" in told
        assert facts(view).strip() == ""
        await press(pilot, "a x s z p m d u i y e colon")


async def test_what_is_loading_says_so(bench: FakeWorkbench, late: Callable[..., Late]) -> None:
    stages = late("stages")
    app = IrlensApp(bench)
    async with app.run_test(size=(120, 40)) as pilot:
        app.show_view("inspector", "softmax-h100")
        await until(pilot, stages.asked.is_set)
        await pilot.pause()
        assert "loading the stages" in screen_text(app)
        stages.go.set()
        await settle(pilot)
        assert "loading" not in screen_text(app)


async def test_gutters_say_whose_registers_they_count(
    bench: FakeWorkbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = bench.report

    def disassembled(key: str, disassembly: Disassembly = Disassembly.SKIP) -> Report:
        found = report(key)
        ptx = found.pressure.ptx
        return (
            replace(found, pressure=replace(found.pressure, sass=ptx))
            if disassembly is Disassembly.REQUIRE
            else found
        )

    async with inspecting(bench) as (view, pilot):
        titles = [str(pane.border_title) for pane in view.panes.panes]
        assert titles == ["softmax.py · live virtual registers", "ptx · live virtual registers"]
        await press(pilot, "p")
        assert "live virtual registers in ptx" in facts(view)
    monkeypatch.setattr(bench, "report", disassembled)
    async with inspecting(bench) as (view, pilot):
        titles = [str(pane.border_title) for pane in view.panes.panes]
        assert titles == ["softmax.py · live machine registers", "ptx · live virtual registers"]
        await press(pilot, "p")
        assert "live machine registers in sass" in facts(view)


async def test_a_deleted_capture_is_reported(
    bench: Workbench, delete: Callable[[str], None]
) -> None:
    async with inspecting(bench) as (view, pilot):
        delete("softmax-h100")
        await press(pilot, "tab s")
        assert "cannot read softmax-h100" in note(active(view))
    delete("matmul-a100")
    async with inspecting(bench, "matmul-a100") as (view, pilot):
        assert "cannot read matmul-a100" in str(view.panes.query_one(Static).content)
        await press(pilot, "a x s z p m d u i y e colon")


async def test_text_is_shown_while_the_rest_is_found_out_and_no_key_waits(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing, go_on = bench.listing, threading.Event()

    def slow(key: str, stage: str, *, annotated: bool = True) -> StageListing:
        if annotated:
            go_on.wait(30)
        return listing(key, stage, annotated=annotated)

    monkeypatch.setattr(bench, "listing", slow)
    app = IrlensApp(bench)
    async with app.run_test(size=SIZE) as pilot:
        app.show_view("inspector", "softmax-h100")
        await until(pilot, lambda: len(app.screen.query(CodePane)) == 2)
        pane = list(app.screen.query(CodePane))[1]
        await until(pilot, lambda: "analysing" in str(pane.border_subtitle))
        await pilot.press("tab", "j", "j", "j")
        line = pane.line
        assert line > 3
        go_on.set()
        await settle(pilot)
        assert pane.line == line
        assert pane.document is not None
        assert pane.document.listing.live
        assert "analysing" not in str(pane.border_subtitle)


async def test_closing_while_something_is_read_is_safe(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting, go_on = threading.Event(), threading.Event()

    def slow(key: str, stage: str, *, annotated: bool = True) -> StageListing:
        waiting.set()
        go_on.wait(30)
        raise ToolError("too late")

    monkeypatch.setattr(bench, "listing", slow)
    app = IrlensApp(bench)
    async with app.run_test(size=(200, 40)) as pilot:
        app.show_view("inspector", "softmax-h100")
        await until(pilot, waiting.is_set)
        await pilot.press("tab", "x", "s", "a")
        await pilot.pause()
    go_on.set()


@pytest.mark.parametrize(
    ("key", "size", "keys"),
    [
        ("softmax-t4", (80, 24), "tab S S f"),
        ("softmax-h100", (120, 40), "tab right_parenthesis right_parenthesis right_parenthesis"),
        ("matmul-a100", (250, 60), "tab tab p"),
    ],
    ids=["80x24", "120x40", "250x60"],
)
def test_looks(
    snap_compare: Callable[..., bool],
    bench: Workbench,
    key: str,
    size: tuple[int, int],
    keys: str,
) -> None:
    async def drive(pilot: Pilot[None]) -> None:
        pilot.app.show_view("inspector", key)  # type: ignore[attr-defined]
        await settle(pilot)
        await press(pilot, keys)
        await settle(pilot)
        await pilot.wait_for_scheduled_animations()  # the scroll bars

    assert snap_compare(IrlensApp(bench), terminal_size=size, run_before=drive)


async def test_a_scrollbar_stands_where_the_text_does(bench: Workbench) -> None:
    """Also where the text was scrolled before there was a scrollbar."""
    app = IrlensApp(bench)
    async with app.run_test(size=(120, 40)) as pilot:
        app.show_view("inspector", "softmax-h100")
        await settle(pilot)
        views = list(app.screen.query(CodePane))
        assert len(views) == 2
        for view in views:
            assert view.scroll_y > 0
            assert view.vertical_scrollbar.position == view.scroll_y
