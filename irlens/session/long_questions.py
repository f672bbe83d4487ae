"""What the TUI asks of an entry that takes a compilation or more: passes, why, variants, limits."""

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from irlens.artifacts.entries import Broken
from irlens.artifacts.load import load
from irlens.model.capture import Capture
from irlens.model.code import CodeComparison
from irlens.model.errors import ArtifactError, CaptureError
from irlens.model.layout import LayoutDrawing
from irlens.model.limits import Limits
from irlens.model.passes import Crossing, CrossingKind, FollowedLine, Passes
from irlens.model.report import Finding
from irlens.model.source import SourceLocation
from irlens.model.suggestion import Suggestion
from irlens.model.variants import Variants
from irlens.model.why import Explanations
from irlens.session.exchange import Inquiry
from irlens.session.inquiries import Inquirer

# The first screen appears before any question is asked, and sooner without these.
if TYPE_CHECKING:
    from irlens.compiler import Request
    from irlens.diff.passes import States

#: Entries whose passes are kept: those of attention are twenty megabytes.
_MAX_STATES = 2


class LongQuestions(ABC):
    """The part of a ``Workbench`` that child processes answer."""

    def __init__(self) -> None:
        self._inquirer = Inquirer()
        self._states: OrderedDict[str, States] = OrderedDict()

    @abstractmethod
    def _capture(self, key: str) -> Capture:
        """Return the capture of an entry, which is compiled if needed."""

    @abstractmethod
    def _source(self, key: str, capture: Capture) -> str:
        """Return the kernel that a capture was compiled from, as the command line names it."""

    @abstractmethod
    def _captures_of(self, kernel: str) -> Sequence[Capture]:
        """Return the listed captures of a kernel."""

    def suggest(self, key: str, inquiry: Inquiry) -> Suggestion:
        """Compile the neighbours of an entry's configuration, and return the fastest."""
        return self._inquirer.ask("suggest", self._request(key), Suggestion, inquiry)

    def why(self, key: str, finding: Finding, inquiry: Inquiry) -> Explanations:
        """Return what decides a finding of an entry, and what was tried against it.

        Compiles the entry again, with and without the blamed cause. Raises as ``suggest`` does.
        """
        request = self._request(key)
        return self._inquirer.ask("why", request, Explanations, inquiry, finding=finding)

    def variants(self, key: str, ranges: Sequence[str], inquiry: Inquiry) -> Variants:
        """Return the variants that launches of an entry need, or those in the listing.

        Args:
            ranges: Values of arguments: "n=1..131072". Without any, the entry's launch.

        Where the kernel's source is unknown, the variants are the listed captures of the kernel.
        """
        try:
            request = self._deriving_request(key)
        except CaptureError:  # nothing can be compiled: it is about what is there
            from irlens.session.variants import variants_of_captures

            if ranges:
                raise
            return variants_of_captures(self._captures_of(self._capture(key).kernel))
        return self._inquirer.ask("variants", request, Variants, inquiry, ranges=ranges)

    def limits(self, key: str, sizes: Sequence[str], inquiry: Inquiry) -> Limits:
        """Return the smallest sizes at which an entry breaks.

        Args:
            sizes: The sizes to vary, over a range, "n=1..4096", or the default one, "n"; all of
                them if there are none.
        """
        request = self._deriving_request(key)
        return self._inquirer.ask("limits", request, Limits, inquiry, ranges=sizes)

    def passes(self, key: str, inquiry: Inquiry) -> Passes:
        """Return the compiler's passes of an entry, which is compiled again if it keeps none."""
        from irlens.diff.passes import describe_passes

        return describe_passes(self._states_of(key, inquiry))

    def pass_change(self, key: str, number: int) -> CodeComparison:
        """Return what a pass changed, of an entry whose ``passes`` were returned before."""
        from irlens.diff.passes import change_of

        return change_of(self._states_of(key), number)

    def line_through_passes(self, key: str, line: SourceLocation) -> FollowedLine:
        """Return what the passes made of a line of Python, as far as the IR can be read."""
        from irlens.session.passes import follow_line

        return follow_line(self._states_of(key), line)

    def crossing(self, key: str, operation: str, kind: CrossingKind) -> Crossing:
        """Return the pass that brings an operation first, or removes the last one."""
        from irlens.diff.passes import crossing

        return crossing(self._states_of(key), operation, kind)

    def layout(self, key: str, names: Sequence[str], line: int) -> LayoutDrawing:
        """Return the layout of the first of some values, as a line of ttgir names them, with one.

        Raises ``IrlensError`` if none has a layout that irlens draws.
        """
        from irlens.session.stages import layout_in

        return layout_in(self._capture(key), names, line)

    def _states_of(self, key: str, inquiry: Inquiry | None = None) -> "States":
        """Return the IR between an entry's passes, of which those asked for last are kept."""
        from irlens.session.passes import states_of_capture

        states = self._states.pop(key, None) or states_of_capture(self._capture(key))
        if states is None:
            inquiry = inquiry or Inquiry()
            answer = self._inquirer.ask("passes", self._request(key), list[str], inquiry)
            loaded = [each for entry in answer for each in load(Path(entry))]
            captures = [each for each in loaded if not isinstance(each, Broken)]
            if len(captures) != 1 or (states := states_of_capture(captures[0])) is None:
                raise ArtifactError(f"compiling {self._capture(key).kernel} left no passes")
        self._states[key] = states
        if len(self._states) > _MAX_STATES:
            self._states.popitem(last=False)
        return states

    def _request(self, key: str) -> "Request":
        """Return the request that compiles an entry again."""
        from irlens.session.recompile import request_of

        capture = self._capture(key)
        return request_of(capture, self._source(key, capture), {})

    def _deriving_request(self, key: str) -> "Request":
        """Return the request whose constexprs follow from the arguments, as the kernel says."""
        from irlens.session.recompile import settings_of

        request, capture = self._request(key), self._capture(key)
        source = self._source(key, capture)
        follow = {each.name for each in settings_of(capture, source) if each.follows}
        settings = {name: each for name, each in request.settings.items() if name not in follow}
        return msgspec.structs.replace(request, settings=settings)
