"""Documentation of findings, figures and terms, by name."""

import re
from collections.abc import Iterator

from irlens import figures, glossary, rules
from irlens.figures import Figure
from irlens.model.errors import UnknownNameError

#: The plural's ending of a word; "occupancies" is no name.
_PLURAL = re.compile(r"(?<=[a-rt-z])s\b")


def explain(name: str) -> str:
    """Return the documentation of a finding, a figure or a term, in Markdown.

    Args:
        name: A finding's code (IRL201) or name, a figure's path or title
            ("pipelines[].groups_during_compute", "groups-in-flight"), or a term of the glossary,
            in the singular or the plural.

    Raises:
        UnknownNameError: Nothing has this name.
    """
    documents = list(_documents(name)) or list(_documents(_singular_of_known(name)))
    if not documents:
        unknown = UnknownNameError("finding, figure or term", name, names())
        if (unknown.hint or "").startswith("known: "):  # four hundred of them
            unknown = UnknownNameError(
                "finding, figure or term", name, (), hint="`irlens explain` lists them all"
            )
        raise unknown
    return "\n".join(documents)


def _documents(name: str) -> Iterator[str]:
    """Yield the documentation of everything that has a name."""
    for rule in rules.all_rules():
        if name.lower() in (rule.CODE.lower(), rule.NAME):
            yield rules.documentation(rule)
    figure = figures.find(name)
    if figure is not None:
        yield _figure_documentation(figure)
    term = glossary.find(name)
    if term is not None:
        yield term.documentation


def _singular_of_known(name: str) -> str:
    """Return the known name of the same words, in another number or order; empty if none is."""
    wanted = _uninflected(name)
    return next((known for known in names() if _uninflected(known) == wanted), "")


def _uninflected(name: str) -> list[str]:
    """Return the words of a name in the singular, sorted."""
    plain = name.replace("_", "-").replace("/", "-per-")
    return sorted(_PLURAL.sub("", glossary.normalize(plain)).split("-"))


def _figure_documentation(figure: Figure) -> str:
    properties = {
        "path": f"`{figure.path}`",
        "unit": figure.unit,
        "better": {"more": "higher", "less": "lower"}.get(figure.better or "", ""),
        "values": ", ".join(figures.choices(figure)),
        "AMD": figure.amd.format("CU"),
        "budgets": ", ".join(f"`{n}`" for n in figures.names(figure)) if figure.in_budgets else "",
        "sweeps": f"`{figure.sweep}`" if figure.sweep else "",
    }
    lines = [f"- {name}: {value}" for name, value in properties.items() if value]
    return "\n".join([f"# {figure.title} (figure)", "", figure.documentation, "", *lines, ""])


def names() -> Iterator[str]:
    """Yield every name that ``explain`` accepts, in its shortest form."""
    for rule in rules.all_rules():
        yield from (rule.CODE, rule.NAME)
    for figure in figures.FIGURES:
        yield from (figure_name(figure), *figures.names(figure))
    for term in glossary.terms():
        yield from (glossary.normalize(name) for name in (term.name, *term.aliases, *term.words))


def figure_name(figure: Figure) -> str:
    """Return the shortest name that finds a figure: "groups-in-flight", "warp-group-registers"."""
    title = glossary.normalize(figure.title)
    if figures.find(title) is figure:
        return title
    return glossary.normalize(f"{figure.scope} {figure.title}")
