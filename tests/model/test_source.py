"""Locations in Python source, and how a file of torch.compile is named in every format."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import irlens
from irlens.analyze.capture_code import CaptureCode
from irlens.cli.commands.inspect import command
from irlens.model.source import SourceLocation, short_file
from irlens.render.text_listing import line_text
from irlens.render.text_page import Page
from irlens.render.view.nodes import Place
from irlens.session.stages import find_line

SAMPLES = Path(__file__).parents[2] / "samples" / "captures"
HASHED = "c7xk2vq4bnmz3yhtfgd5rsaw6plekjuioqx2cvb7nma4sdfgh3jk.py"
SHORT = "c7xk2vq4….py"


def test_only_hashes_are_shortened() -> None:
    assert short_file(HASHED) == short_file(f"/tmp/torchinductor_me/7x/{HASHED}") == SHORT
    others = ("softmax.py", "cache.py", HASHED.upper(), HASHED[1:], f"{HASHED}c", "a/b.py", "")
    assert all(short_file(other) == other for other in others)
    assert str(SourceLocation(HASHED, 4)) == str(Place(HASHED, 4)) == f"{SHORT}:4"
    assert SourceLocation(HASHED, 4).file == HASHED


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    """A capture whose kernel is in a file with such a name."""
    folder = tmp_path / "capture"
    shutil.copytree(SAMPLES / "softmax-h100", folder)
    (folder / "python" / "softmax.py").rename(folder / "python" / HASHED)
    for path in folder.iterdir():
        if path.suffix in (".ttir", ".ttgir", ".llir", ".ptx", ".source", ".json"):
            path.write_text(path.read_text().replace("softmax.py", HASHED))
    return folder


@pytest.mark.parametrize("form", ["text", "markdown", "github", "csv", "html"])
def test_every_format_for_people_shows_the_short_name(form: str, compiled: Path) -> None:
    shown = CliRunner().invoke(command, [str(compiled), "--format", form, "--all"])
    assert shown.exception is None or isinstance(shown.exception, SystemExit), shown.output
    assert SHORT in shown.output or form in ("csv", "github")
    # A page also shows the stages, whose text is the compiler's.
    own = shown.output.partition('class="listing"')[0] if form == "html" else shown.output
    assert f"<b>{HASHED}</b>" not in own
    assert f"<code>{HASHED}" not in own
    assert form == "html" or HASHED not in own


def test_a_short_name_can_be_given(compiled: Path) -> None:
    (capture,) = irlens.load(compiled)
    expected = line_text(find_line(CaptureCode(capture), "49"), Page(width=0, color=False))
    assert (
        line_text(find_line(CaptureCode(capture), f"{SHORT}:49"), Page(width=0, color=False))
        == expected
    )
    assert expected.startswith(f"{SHORT}:49  input_ptrs = ")
