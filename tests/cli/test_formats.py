"""``-f``, ``--json`` and the suffix of ``-o`` select one format by the same rule everywhere."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from irlens.cli.root import root
from irlens.model.errors import IrlensError
from irlens.render import FORMATS, format_names
from irlens.version import VERSION

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"
SOFTMAX, OTHER = str(CAPTURES / "softmax-h100"), str(CAPTURES / "softmax-t4")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(root, list(map(str, arguments)), catch_exceptions=False,
                              standalone_mode=False)  # fmt: skip


@pytest.mark.parametrize("form", format_names("reports"))
def test_the_suffix_of_the_output_selects_the_format(form: str, tmp_path: Path) -> None:
    by_suffix, by_name = (tmp_path / f"{n}.{FORMATS[form].extension}" for n in ("one", "other"))
    run("inspect", SOFTMAX, "-o", by_suffix)
    run("inspect", SOFTMAX, "-o", by_name, "-f", form)
    assert by_suffix.read_bytes() == by_name.read_bytes()
    text = tmp_path / "text"
    run("inspect", SOFTMAX, "-o", text)
    assert (by_suffix.read_bytes() == text.read_bytes()) == (form == "text")


@pytest.mark.parametrize(
    "arguments", [("inspect", SOFTMAX), ("diff", SOFTMAX, OTHER), ("scan", str(CAPTURES))]
)
def test_every_command_knows_the_suffix(arguments: tuple[str, ...], tmp_path: Path) -> None:
    for suffix, start in ((".HTM", "<!doctype html>"), (".json", ("{", "[")), (".md", "<!--")):
        file = tmp_path / f"result{suffix}"
        run(*arguments, "-o", file)
        assert file.read_text().startswith(start)


def test_rows_are_streamed_by_suffix(tmp_path: Path) -> None:
    run("scan", CAPTURES, "-o", tmp_path / "rows.jsonl", "--columns", "kernel,registers")
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert rows
    assert all(row.keys() == {"kernel", "registers"} for row in rows)


def test_the_option_wins_over_the_suffix(tmp_path: Path) -> None:
    file = tmp_path / "comment.txt"
    for option in (("-f", "json"), ("--json",)):
        run("inspect", SOFTMAX, "-o", file, *option)
        assert json.loads(file.read_text())["kernel"] == "softmax_kernel"


@pytest.mark.parametrize("name", ["report", "report.log", "report.OUT", "report."])
def test_a_file_of_text_or_without_a_suffix_is_text(name: str, tmp_path: Path) -> None:
    run("inspect", SOFTMAX, "-o", tmp_path / name)
    assert (tmp_path / name).read_text().startswith("softmax_kernel")


def test_an_unknown_suffix_writes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "report.hmtl"
    with pytest.raises(IrlensError, match=r"no format has the suffix \.hmtl") as refused:
        run("inspect", SOFTMAX, "-o", file)
    assert ".html" in str(refused.value.hint)
    assert not file.exists()
    run("inspect", SOFTMAX, "-o", file, "-f", "json")
    assert json.loads(file.read_text())["kernel"] == "softmax_kernel"


def test_a_suffix_that_cannot_hold_the_result_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(IrlensError, match="parquet cannot hold reports") as caught:
        run("inspect", SOFTMAX, "-o", tmp_path / "x.parquet")
    assert caught.value.hint is not None
    assert "html" in caught.value.hint
    assert not any(tmp_path.iterdir())


def test_json_is_a_short_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The captures of the session's own store are a link, which "cache" mentions on stderr.
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path))
    for arguments in (("inspect", SOFTMAX), ("kernels",), ("targets",), ("cache",)):
        short, long = (run(*arguments, *end).output for end in (("--json",), ("-f", "json")))
        json.loads(short)
        assert short == long, arguments
    assert run("inspect", SOFTMAX, "--json", "-f", "json").exit_code == 0


def test_two_formats_contradict_each_other() -> None:
    for command in (("inspect", SOFTMAX, "-f", "html"), ("kernels", "-f", "text")):
        with pytest.raises(Exception, match=r"--json and --format \w+ exclude each other"):
            run(*command, "--json")


@pytest.mark.parametrize("stage", [("--stage", "metadata"), ("--line", "51")])
def test_a_stage_is_written_unchanged_whatever_the_suffix(
    stage: tuple[str, ...], tmp_path: Path
) -> None:
    run("inspect", SOFTMAX, *stage, "-o", tmp_path / "a.json")
    run("inspect", SOFTMAX, *stage, "-o", tmp_path / "a")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "a").read_bytes()


def test_a_footer_only_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, again = tmp_path / "page.html", tmp_path / "again.html"
    for file in (page, again):
        run("inspect", SOFTMAX, "-o", file)
    assert page.read_bytes() == again.read_bytes()
    assert "<footer>" not in page.read_text()
    words = ["irlens", "inspect", "<b>", "--footer"]
    monkeypatch.setattr("sys.argv", words)
    run("inspect", SOFTMAX, "-o", again, "--footer")
    (footer,) = re.findall(r"<footer>(.*?)</footer>", again.read_text())
    assert re.match(rf"\d{{4}}-\d\d-\d\d \d\d:\d\d UTC · irlens {VERSION} · irlens inspect", footer)
    assert "&lt;b&gt;" in footer
    assert len(again.read_text()) - len(page.read_text()) == len(f"<footer>{footer}</footer>")


def test_only_a_page_has_a_footer() -> None:
    with pytest.raises(Exception, match="--footer has no effect with --format text"):
        run("inspect", SOFTMAX, "--footer")
