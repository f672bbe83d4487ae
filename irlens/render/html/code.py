"""What moved in the text of stages, as a page: the two sides beside each other."""

from irlens.model.code import CodeComparisons
from irlens.model.code_lines import summary
from irlens.model.text import count
from irlens.render import View
from irlens.render._code import left_out, title
from irlens.render.html._markup import tag
from irlens.render.html._page import document
from irlens.render.html._parts import stated
from irlens.render.html._sides import sides


def render(comparisons: CodeComparisons, view: View) -> str:
    """Return a page of every stage that was compared."""
    pairs = comparisons.pairs
    differing = sum(pair.different for pair in pairs)
    single = len(pairs) == 1
    verdict = summary(pairs[0]) if single else f"{count(differing)} of {count(len(pairs))} differ"
    # One capture's stages have one title.
    titles = dict.fromkeys(map(title, pairs))
    name = next(iter(titles)) if len(titles) == 1 else "code"
    told = list(left_out(comparisons))
    stages = (
        sides(pair, pair.stage if len(titles) == 1 else f"{title(pair)}: {pair.stage}", opened=True)
        for pair in pairs
    )
    body = tag(
        "main",
        tag("h1", tag("code", name)),
        tag("p", stated("plain", verdict), class_="verdict"),
        tag("ul", *(tag("li", each) for each in told)) if told else None,
        tag("div", *stages, class_="code"),
    )
    return document(name, body)
