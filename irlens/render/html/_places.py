"""Places in code, as links to the code where the page shows it."""

from irlens.model.listing import Listing
from irlens.model.source import SourceLocation
from irlens.render.html._markup import Markup, tag


class Places:
    """Where the lines of one report's code are on the page.

    Args:
        prefix: What the ids of this report begin with; there may be several on a page.
        listing: The code that the page shows; ``None`` if it shows none.
    """

    def __init__(self, prefix: str = "", listing: Listing | None = None) -> None:
        self.prefix = prefix
        self._files = {name: index for index, name in enumerate(files(listing))}
        self._lines = dict(listing.python) if listing else {}
        self._stages = {name: index for index, name in enumerate(listing.stages if listing else ())}

    def file_id(self, name: str) -> str:
        """Return what the ids of a Python file's lines begin with."""
        return f"{self.prefix}f{self._files[name]}-"

    def stage_id(self, name: str) -> str:
        """Return what the ids of a stage's lines begin with."""
        return f"{self.prefix}s{self._stages[name]}-"

    def source(self, place: SourceLocation | None) -> Markup | None:
        """Return a place in Python, linked if it is on the page; nothing for none."""
        if place is None:
            return None
        if place.file not in self._files:
            return tag("code", str(place), class_="place")
        return _link(f"{self.file_id(place.file)}{place.line}", str(place))

    def stage(self, name: str, line: int) -> Markup:
        """Return a place in a stage, linked if it is on the page."""
        text = f"{name}:{line}"
        if name not in self._stages:
            return tag("code", text, class_="place")
        return _link(f"{self.stage_id(name)}{line}", text)

    def either(self, source: SourceLocation | None, name: str, line: int) -> Markup:
        """Return the place in Python, or that in the stage where none is known."""
        return self.source(source) or self.stage(name, line)


def files(listing: Listing | None) -> list[str]:
    """Return the Python files that a page shows, the kernel's first.

    These are the ones that code leads to and the capture holds; if it holds none, the kernel's
    alone, of which the line numbers are known.
    """
    if listing is None:
        return []
    led: dict[str, int] = {}
    for stage in listing.stages.values():
        for chain in stage.chains:
            for place in chain:
                led.setdefault(place.file, 0)
            if chain:
                led[chain[-1].file] += 1
    # The outermost function is the kernel.
    ordered = sorted(led, key=lambda name: (-led[name], name))
    return [name for name in ordered if name in listing.python] or ordered[:1]


def _link(anchor: str, text: str) -> Markup:
    return tag("a", tag("code", text), href=f"#{anchor}", class_="place")
