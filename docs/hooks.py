"""MkDocs hooks: pages generated from the code, and links that leave the documentation.

The findings come from the rules, the figures from the registry, the glossary from the package,
and the development pages from the files at the top of the repository: none of them can go stale.
"""

import re
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from irlens import figures, rules

ROOT = Path(__file__).resolve().parents[1]
GLOSSARY = ROOT / "irlens" / "glossary.md"
#: Files at the top of the repository, by the page that shows them.
TOP_LEVEL = {
    "development/architecture.md": "ARCHITECTURE.md",
    "development/contributing.md": "CONTRIBUTING.md",
    "development/changelog.md": "CHANGELOG.md",
    "development/security.md": "SECURITY.md",
}
#: HTML reports of the gallery, by the page that shows them.
GALLERY = {
    "gallery/report.html": "samples/reports/softmax-h100.html",
    "gallery/sweep.html": "samples/sweeps/matmul-h200.html",
    "gallery/diff.html": "samples/comparisons/layer_norm-3.6-3.7.html",
    "gallery/scan.html": "samples/scans/captures.html",
    "gallery/ledger.html": "samples/ledgers/rms_norm.html",
}
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<target>[^)#\s]+)(?P<anchor>#[^)]*)?\)")
_HEADING = re.compile(r"^(#+ )", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    pages = {
        "reference/findings.md": findings_page(),
        "reference/figures.md": figures_page(),
        "reference/glossary.md": GLOSSARY.read_text(),
        "reference/schema.md": schema_page(),
        **{page: (ROOT / name).read_text() for page, name in TOP_LEVEL.items()},
    }
    for page, content in pages.items():
        files.append(File.generated(config, page, content=content))
    for page, name in GALLERY.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Resolve links between the repository's files; what the site does not hold becomes text."""
    source = TOP_LEVEL.get(page.file.src_uri)
    folder = PurePosixPath("." if source else f"docs/{page.file.src_uri}").parent
    by_source = {f"docs/{file.src_uri}": file.src_uri for file in files}
    by_source |= {name: page for page, name in TOP_LEVEL.items()}
    depth = len(PurePosixPath(page.file.src_uri).parts) - 1

    def resolved(match: re.Match[str]) -> str:
        target = match["target"]
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        path = _normalized(folder / target)
        if path in by_source:
            return f"[{match['text']}]({'../' * depth}{by_source[path]}{match['anchor'] or ''})"
        return match["text"]

    return _LINK.sub(resolved, markdown)


def findings_page() -> str:
    """Return the documentation of every rule, behind a table of them."""
    lines = ["# Findings", "", "`irlens explain CODE` prints the same in a terminal.", ""]
    lines += ["| code | name | severity | finding |", "|---|---|---|---|"]
    documents = []
    for rule in rules.all_rules():
        anchor = re.sub(r"[^\w-]+", "-", f"{rule.CODE} {rule.NAME} {rule.SEVERITY}".lower())
        summary = rules.summary(rule)
        lines.append(f"| [{rule.CODE}](#{anchor}) | {rule.NAME} | {rule.SEVERITY} | {summary} |")
        documents.append(_HEADING.sub(r"#\1", rules.documentation(rule)))
    return "\n".join([*lines, "", *documents])


def figures_page() -> str:
    """Return every row of the figures registry."""
    lines = [
        "---",
        "hide: [toc]",
        "---",
        "",
        "# Figures",
        "",
        "Every figure that irlens reports, by its path in the JSON report. `--sort`, `--filter`,",
        "budgets and `irlens explain` accept these names.",
        "",
        "| figure | path | unit | better | meaning |",
        "|---|---|---|---|---|",
    ]
    for figure in figures.FIGURES:
        better = figure.better or ""
        meaning = figure.documentation.replace("|", "\\|")
        lines.append(f"| {figure.title} | `{figure.path}` | {figure.unit} | {better} | {meaning} |")
    return "\n".join([*lines, ""])


def schema_page() -> str:
    """Return the JSON Schemas of everything that ``--format json`` writes."""
    lines = ["# JSON Schemas", "", "`irlens schema KIND` prints them. The schema version is 1.", ""]
    for path in sorted((ROOT / "samples").glob("*.schema.json")):
        kind = path.name.removesuffix(".schema.json")
        lines += [f"## {kind}", "", "```json", path.read_text().rstrip(), "```", ""]
    return "\n".join(lines)


def _normalized(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        elif part not in (".", ".."):
            parts.append(part)
    return "/".join(parts)
