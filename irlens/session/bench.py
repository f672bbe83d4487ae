"""The workbench itself."""

import itertools
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irlens.artifacts.entries import Broken
from irlens.model.capture import Capture
from irlens.model.code import CodeComparison
from irlens.model.comparison import Comparison
from irlens.model.errors import ArtifactError, CaptureError
from irlens.model.listing import Occurrences, StageListing
from irlens.model.report import Occupancy, Report
from irlens.session import reading
from irlens.session.found import Found, Uncompiled, key_of
from irlens.session.made import Made
from irlens.session.twins import Twins
from irlens.session.workbench import Entry, Setting

# The interface is on the screen before it asks for anything, and sooner without these.
if TYPE_CHECKING:
    from irlens.compiler import Request
    from irlens.session.background import Waiting
    from irlens.session.what_if import Demands

#: Reports kept at hand; each may hold a pressure curve of a hundred thousand points.
_REPORTS_AT_HAND = 16


class Bench:
    """Answers from captures, saved reports, and kernels that are compiled on demand.

    Args:
        title: What is looked at, as the user named it.
        find: Yields what there is; is called anew for every listing.
        asking: Returns what asks for a kernel, by its name.
        origins: What captures were made of, where that is known.
        root: Places are told relative to it.
    """

    def __init__(
        self,
        title: str,
        find: Callable[[], Iterator[Found]],
        *,
        asking: "Callable[[str], Request]",
        origins: "Iterable[tuple[Capture, Request]]" = (),
        root: Path | None = None,
    ) -> None:
        self.title = title
        self._find = find
        self._asking = asking
        self._root = root
        self._subjects: dict[str, Capture | Report | Uncompiled] = {}
        self._twins = Twins()
        self._made = Made(origins, lambda capture: self._twins.first(key_of(capture, 0), capture))
        self._reports: OrderedDict[tuple[str, bool], Report] = OrderedDict()
        self._reporting: defaultdict[tuple[str, bool], threading.Lock] = defaultdict(threading.Lock)
        self._demands: dict[str, Demands | None] = {}
        self._compiling = threading.Lock()

    def entries(self) -> Iterator[Entry]:
        """Yield each entry at once by its name, then with what its binary says, then in full."""
        waiting: list[Waiting] = []
        listed: set[str] = set()
        made = list(self._made.captures.values())
        for number, found in enumerate(itertools.chain(self._find(), made)):
            key = key_of(found, number)
            if isinstance(found, Capture):
                key = self._twins.first(key, found)
            if key in listed:
                continue
            listed.add(key)
            if isinstance(found, Broken):
                place = reading.place_of(found.path, self._root)
                yield Entry(key=key, kernel=found.path.name, problem=found.reason, place=place)
                continue
            if isinstance(found, Uncompiled):
                # It may be compiled by now: then it is listed as what came of it.
                if self._subjects.setdefault(key, found) == found:
                    yield Entry(key=key, kernel=found.name)
                continue
            self._subjects[key] = found
            if isinstance(found, Report):
                yield reading.entry_of(key, found, "")
            else:
                place = self._place(found)
                yield reading.name_entry(key, found, place)
                waiting.append((key, found, place))
        readable: list[Waiting] = []
        for key, capture, place in waiting:
            entry = reading.glance(key, capture, place)
            yield entry
            if not entry.problem:
                readable.append((key, capture, place))
        from irlens.session.background import read_all

        yield from read_all(readable)

    def entry(self, key: str) -> Entry:
        """Return an entry with all that is known of it."""
        subject = self._subject(key)
        if isinstance(subject, Uncompiled):
            return Entry(key=key, kernel=subject.name)
        if isinstance(subject, Report):
            return reading.entry_of(key, subject, "")
        return reading.read_entry(key, subject, self._place(subject))

    def report(self, key: str, *, sass: bool = False) -> Report:
        """Return an entry's report."""
        # Several views ask for the same one at once: the first makes it, the others wait for it.
        with self._reporting[key, sass]:
            return self._report(key, sass)

    def _report(self, key: str, sass: bool) -> Report:
        known = self._reports.get((key, sass))
        if known is not None:
            self._reports.move_to_end((key, sass))
            return known
        subject = self._subject(key)
        if isinstance(subject, Report):
            return subject
        if isinstance(subject, Uncompiled):
            subject = self._compile_first(key, subject)
        report = reading.report_of(subject, sass=sass)
        self._reports[key, sass] = report
        if len(self._reports) > _REPORTS_AT_HAND:
            self._reports.popitem(last=False)
        return report

    def single(self) -> str | None:
        """Return the key of the only entry, ``None`` if there are several.

        Raises:
            IrlensError: There is only one, and it cannot be read.
        """
        found = list(itertools.islice(self._find(), 2))
        if len(found) != 1:
            return None
        (only,) = found
        if isinstance(only, Broken):
            raise ArtifactError(f"{only.path}: {only.reason}")
        key = key_of(only, 0)
        self._subjects[key] = only
        return key

    def kernel(self, key: str) -> str:
        """Return the name of an entry's kernel."""
        return (self._capture_of(key) or self.report(key)).kernel

    def stages(self, key: str) -> Sequence[str]:
        """Return the stages of an entry that can be shown."""
        from irlens.report.annotations import list_stages

        capture = self._capture_of(key)
        return list_stages(capture) if capture else ()

    def python(self, key: str) -> dict[str, str]:
        """Return the Python files of an entry, the kernel's own first."""
        capture = self._capture_of(key)
        if capture is None:
            return {}
        texts = {name: capture.python(name) for name in capture.python_files}
        return {name: text for name, text in texts.items() if text is not None}

    def listing(self, key: str, stage: str, *, annotated: bool = True) -> StageListing:
        """Return a stage of an entry."""
        from irlens.report.annotations import list_stage

        return list_stage(self._capture(key), stage, self.report(key) if annotated else None)

    def occurrences(self, key: str, stage: str, name: str, line: int) -> Occurrences:
        """Return where a name stands in a stage."""
        from irlens.report.annotations import occurrences

        return occurrences(self._capture(key), stage, name, line=line)

    def what_if(
        self, key: str, *, registers: int, shared_bytes: int, num_warps: int
    ) -> Occupancy | None:
        """Return the occupancy with other demands."""
        if key not in self._demands:
            from irlens.session.what_if import demands_of_capture, demands_of_report

            subject = self._subject(key)
            self._demands[key] = (
                demands_of_capture(subject)
                if isinstance(subject, Capture)
                else demands_of_report(self.report(key))
            )
        demands = self._demands[key]
        if demands is None:
            return None
        return demands.occupancy(
            registers=registers, shared_bytes=shared_bytes, num_warps=num_warps
        )

    def compare(self, before: str, after: str) -> Comparison:
        """Return what moved between two entries."""
        from irlens.diff.report import compare

        return compare(self.report(before), self.report(after))

    def code(self, before: str, after: str, stage: str) -> CodeComparison:
        """Return what moved in a stage's text."""
        from irlens.diff.code import compare_code

        told = self.compare(before, after)
        names = (told.before.label, told.after.label)
        return compare_code(self._capture(before), self._capture(after), stage, names=names)

    def settings(self, key: str) -> Sequence[Setting]:
        """Return what can be chosen anew."""
        from irlens.session.recompiling import settings_of

        capture = self._capture_of(key)
        return settings_of(capture, self._source(key, capture)) if capture is not None else ()

    def recompile(self, key: str, changes: dict[str, str]) -> Entry:
        """Compile again, with some settings changed."""
        cancels = self._made.cancels  # before anything that takes a while
        from irlens.session.recompiling import request_of

        capture = self._capture_of(key)
        if capture is None:
            raise CaptureError("the kernel's source is not known")
        request = request_of(capture, self._source(key, capture), changes)
        made = self._made.compile(request, cancels)
        self._subjects |= made
        return self.entry(next(iter(made)))

    def saved(self, key: str, until: threading.Event, take: Callable[[str], bool]) -> str:
        """Wait until an entry's kernel is saved, and return what was."""
        return self._made.wait_for_save(key, until, take)

    def remake(self, key: str) -> Entry:
        """Compile an entry anew, from what its files hold now."""
        made = self._made.compile_anew(key)
        config = self._capture(key).config
        self._subjects |= made
        # Of an autotuner's configurations the same one, unless it is not tried any more.
        alike = (other for other, capture in made.items() if capture.config == config)
        return self.entry(next(alike, next(iter(made))))

    def cancel(self) -> None:
        """Abandon the compilation that another thread waits for."""
        self._made.cancel()

    def explain(self, code: str) -> str:
        """Return what a finding means, in Markdown."""
        from irlens import rules as checks

        return checks.documentation(checks.find_check(code))

    def _subject(self, key: str) -> Capture | Report | Uncompiled:
        try:
            return self._subjects[key]
        except KeyError:
            raise ArtifactError(f"there is no {key}") from None

    def _capture(self, key: str) -> Capture:
        subject = self._subject(key)
        if isinstance(subject, Report):
            raise ArtifactError("a saved report holds no code", hint="open what it was made of")
        if isinstance(subject, Uncompiled):
            return self._compile_first(key, subject)
        return subject

    def _compile_first(self, key: str, kernel: Uncompiled) -> Capture:
        """Compile a kernel under the key that it is listed by."""
        with self._compiling:  # what else was asked of it meanwhile waits for the same one
            if key not in self._made.captures:
                cancels = self._made.cancels
                self._subjects |= self._made.compile_as(key, self._asking(kernel.name), cancels)
            return self._made.captures[key]

    def _capture_of(self, key: str) -> Capture | None:
        """Return an entry's capture, ``None`` for a saved report."""
        return None if isinstance(self._subject(key), Report) else self._capture(key)

    def _source(self, key: str, capture: Capture) -> str:
        """Return which kernel a capture was made of, as the command line names it."""
        from irlens.session.recompiling import source_of, unknown_source

        request = self._made.request(key)
        source = source_of(capture, request.kernel if request is not None else None)
        if source is None:
            raise unknown_source(capture)
        return source

    def _place(self, capture: Capture) -> str:
        alone = next(iter(capture.stages.values())).path if capture.stages else None
        return reading.place_of(capture.directory or alone, self._root)
