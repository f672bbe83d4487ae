"""The pages of the repository: short where they promise it, and without broken links."""

import re
from pathlib import Path

from tests.tables import each_row

ROOT = Path(__file__).parents[1]
#: Folders of the site that ``docs/hooks.py`` fills.
BUILT = ("development/", "gallery/")
PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 200


@each_row("page", PAGES)
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    generated = {"findings.md", "figures.md", "glossary.md", "schema.md"}
    prose = re.sub(r"`[^`\n]*`", "", page.read_text())
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose):
        if "://" in target or Path(target).name in generated or target.startswith(BUILT):
            continue
        assert (page.parent / target).exists(), target
