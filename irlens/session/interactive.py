"""The session behind the TUI: answers from captures, saved reports and kernels to compile."""

import itertools
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from irlens.analyze.capture_code import CaptureCode
from irlens.artifacts import store
from irlens.artifacts.entries import Broken
from irlens.artifacts.load import load
from irlens.model.capture import Capture, Disassembly
from irlens.model.code import CodeComparison
from irlens.model.comparison import Comparison
from irlens.model.errors import ArtifactError, CaptureError, IrlensError
from irlens.model.listing import Occurrences, StageListing
from irlens.model.report import Occupancy, Report
from irlens.model.suggestion import Suggestion
from irlens.session import Configurations, is_compiled, listed_entries
from irlens.session.compilation import Compilations
from irlens.session.documents import saved_reports
from irlens.session.entry_index import EntryIndex, Indexed, can_index
from irlens.session.exchange import Entry, Group, Inquiry, Setting
from irlens.session.listed_entries import Item, Uncompiled, key_of
from irlens.session.long_questions import LongQuestions
from irlens.session.opening import Opening
from irlens.session.reports import complete_report, report_of
from irlens.session.session import Session

# The first screen appears before any question is asked, and sooner without these.
if TYPE_CHECKING:
    from irlens.compiler import Request
    from irlens.session.what_if import Demand

#: Reports kept in memory; each may hold a pressure curve of a hundred thousand points.
_MAX_REPORTS = 16
#: Entries whose parsed code is kept: a comparison has two sides.
_MAX_CODES = 2


def open_session(
    kernel: str | None, configurations: Configurations, session: Session
) -> "Workbench":
    """Return the session of KERNEL, or of everything irlens can list.

    Args:
        kernel: KERNEL; ``None`` for what ``Opening`` lists.

    Raises:
        IrlensError: KERNEL is unknown or does not compile.
    """
    chosen = msgspec.structs.replace(configurations, run=configurations.run or False)

    def request_for(name: str) -> "Request":
        return next(session.requests(name, chosen))

    if kernel is None:
        if configurations != Configurations():
            raise IrlensError("--target, --set and similar options need a KERNEL to compile")
        opening = Opening(Path.cwd())
        return Workbench(
            opening.title, opening.items, request_for, root=store.captures(), group=opening.group
        )
    if is_compiled(kernel) and configurations.is_empty:
        saved = saved_reports(kernel)
        path = Path(kernel).expanduser()
        find = (lambda: load(path)) if saved is None else (lambda: iter(saved))
        indexed = saved is None and can_index(path)
        return Workbench(kernel, find, request_for, root=path, indexed=indexed)
    if (launched := session.launched(kernel, chosen)) is not None:
        path = Path(kernel).expanduser()
        return Workbench(kernel, lambda: iter(launched), request_for, root=path)
    from irlens.compiler.sources.description import find_kernels

    sources = () if is_compiled(kernel) else find_kernels(kernel)
    functions = [source.function for source in sources]
    if len(functions) > 1 and configurations.is_single:
        # Compiled once one is opened: the others may need arguments that nobody has given.
        offered = [Uncompiled(f"{kernel}:{function}") for function in functions]
        return Workbench(kernel, lambda: iter(offered), request_for)
    compiled = list(session.compile_all(kernel, configurations))
    return Workbench(
        kernel,
        lambda: iter([capture for capture, _ in compiled]),
        request_for,
        origins=compiled,
        root=store.captures(),
    )


class Workbench(LongQuestions):
    """Answers the TUI's questions with finished records.

    Any method may take a while, so the TUI calls them from worker threads, but for ``what_if``.
    All raise ``IrlensError`` with a message for the user, also when a capture was deleted
    meanwhile.

    Args:
        title: The subject, as the user named it.
        find: Yields the items to list; is called again for every listing.
        request_for: Returns the request that compiles a kernel, by the kernel's name.
        origins: Captures whose requests are known.
        root: Displayed paths are relative to it.
        indexed: Whether ``find`` yields the captures below ``root``, whose complete entries are to
            be remembered.
        group: Returns the group of an item, where ``find`` yields different things.
    """

    def __init__(
        self,
        title: str,
        find: Callable[[], Iterator[Item]],
        request_for: "Callable[[str], Request]",
        *,
        origins: "Iterable[tuple[Capture, Request]]" = (),
        root: Path | None = None,
        indexed: bool = False,
        group: Callable[[Item], Group | None] = lambda _: None,
    ) -> None:
        super().__init__()
        self.title = title
        self._find = find
        self._request_for = request_for
        self._root = root
        self._is_indexed = indexed
        self._group = group
        self._items: dict[str, Capture | Indexed | Report | Uncompiled] = {}
        self._duplicates = listed_entries.Deduplication()
        self._compilations = Compilations(
            origins, lambda capture: self._duplicates.canonical_key(key_of(capture, 0), capture)
        )
        self._report = lru_cache(_MAX_REPORTS)(self._made_report)
        self._reporting: defaultdict[tuple[str, Disassembly], threading.Lock] = defaultdict(
            threading.Lock
        )
        self._code_of = lru_cache(_MAX_CODES)(self._parsed_code)
        self._coding = threading.Lock()
        self._demands: dict[str, Demand | None] = {}
        self._compiling = threading.Lock()
        # The index remembers entries.
        self._reader = listed_entries.EntryReader("brief" if indexed else "whole")
        self._index: EntryIndex | None = None
        self._learning = threading.Lock()

    def entries(self) -> Iterator[Entry]:
        """Yield each entry by name at once, then with its binary's figures.

        An entry whose report is remembered is complete at the second step, and one that is indexed
        as far as it was before.
        """
        if not self._is_indexed or self._root is None:
            yield from self._read(self._find())
            return
        index = self._index = EntryIndex(self._root)
        try:
            yield from self._read(index.items())
        finally:
            self._save_index()

    def _read(self, items: Iterator[Item]) -> Iterator[Entry]:
        unread: list[listed_entries.Unread] = []
        for key, item in self._list(items):
            if isinstance(item, Broken):
                place = listed_entries.display_path(item.path, self._root)
                broken = Entry(key=key, kernel=item.path.name, problem=item.reason, place=place)
                yield self._grouped(broken, item)
                continue
            if isinstance(item, Uncompiled):
                # A kernel that was compiled meanwhile is listed as its capture.
                if self._items.setdefault(key, item) == item:
                    yield self._grouped(listed_entries.entry_of_name(item), item)
                continue
            self._items[key] = item
            if isinstance(item, Report):
                yield listed_entries.entry_of_report(key, item, "")
            elif isinstance(item, Indexed):
                yield item.entry
            else:
                place = self._place(item)
                yield self._grouped(listed_entries.entry_of_metadata(key, item, place), item)
                unread.append((key, item, place))
        for each, recalled in listed_entries.recall_entries(unread):
            entry = recalled or listed_entries.entry_of_binary(*each)
            self._learn(entry)
            yield self._grouped(entry, each[1])

    def complete(self, keys: Sequence[str]) -> Iterator[Entry]:
        """Yield the complete entry of each listed key as soon as it is read, in any order.

        Compiles nothing. A key whose capture is gone is left out.
        """
        unread: list[listed_entries.Unread] = []
        for key in keys:
            item = self._items.get(key)
            if isinstance(item, Indexed) and item.entry.findings is None:
                with suppress(ArtifactError):  # deleted meanwhile: opening it says so
                    item = self._items[key] = item.capture()
            if isinstance(item, Capture):
                unread.append((key, item, self._place(item)))
        with closing(self._reader.read(unread, many=len(self._items) > len(keys))) as read:
            for entry in read:
                self._learn(entry)
                yield self._grouped(entry, self._items[entry.key])

    def _grouped(self, entry: Entry, item: Item) -> Entry:
        """Return an entry with the group of what it stands for."""
        group = self._group(item)
        return entry if group is None else msgspec.structs.replace(entry, group=group)

    def _learn(self, entry: Entry) -> None:
        """Have the index remember an entry, if there is one."""
        with self._learning:
            if self._index is not None:
                self._index.learn(entry)

    def _save_index(self) -> None:
        with self._learning:
            if self._index is not None:
                self._index.save()

    def _list(self, items: Iterator[Item]) -> Iterator[tuple[str, Item]]:
        """Yield every item once, with its key; captures compiled here come last."""
        compiled = list(self._compilations.captures.values())
        listed: set[str] = set()
        for index, item in enumerate(itertools.chain(items, compiled)):
            key = key_of(item, index)
            if isinstance(item, Capture):
                key = self._duplicates.canonical_key(key, item)
            if key not in listed:
                listed.add(key)
                yield key, item

    def entry(self, key: str) -> Entry:
        """Return the complete entry; compiles nothing."""
        item = self._item(key)
        if isinstance(item, Uncompiled):
            entry = listed_entries.entry_of_name(item)
        elif isinstance(item, Report):
            entry = listed_entries.entry_of_report(key, item, "")
        else:
            (entry,) = listed_entries.read_entries([(key, item, self._place(item))])
        return self._grouped(entry, item)

    def report(self, key: str, disassembly: Disassembly = Disassembly.SKIP) -> Report:
        """Return the report of an entry, which is compiled if needed.

        It has the machine code, if that is required.
        """
        # Several views request the same report at once: one thread makes it, the others wait.
        with self._reporting[key, disassembly]:
            return self._report(key, disassembly)

    def _made_report(self, key: str, disassembly: Disassembly) -> Report:
        item = self._item(key)
        if isinstance(item, Report):
            return item
        code = self._code(key)
        whole = disassembly is Disassembly.REQUIRE
        return report_of(code, disassembly) if whole else complete_report(code)

    def single(self) -> str | None:
        """Return the key of the only entry, ``None`` if there are several.

        Raises:
            IrlensError: The only entry cannot be read.
        """
        items = list(itertools.islice(self._find(), 2))
        if len(items) != 1:
            return None
        (only,) = items
        if isinstance(only, Broken):
            raise ArtifactError(f"{only.path}: {only.reason}")
        key = key_of(only, 0)
        self._items[key] = only
        return key

    def kernel(self, key: str) -> str:
        """Return the kernel's name."""
        return (self._capture_or_none(key) or self.report(key)).kernel

    def stages(self, key: str) -> Sequence[str]:
        """Return the stages that can be shown, in the compiler's order."""
        capture = self._capture_or_none(key)
        return CaptureCode(capture).stages if capture else ()

    def python(self, key: str) -> dict[str, str]:
        """Return the Python files of an entry by name, the kernel's own file first."""
        capture = self._capture_or_none(key)
        return capture.python_texts() if capture is not None else {}

    def listing(self, key: str, stage: str, *, annotated: bool = True) -> StageListing:
        """Return a stage line by line; without annotations it is available sooner."""
        from irlens.report.annotations import list_stage

        return list_stage(self._code(key), stage, self.report(key) if annotated else None)

    def occurrences(self, key: str, stage: str, name: str, line: int) -> Occurrences:
        """Return the definitions and uses of an SSA value, a register or a label of a line."""
        from irlens.report.annotations import occurrences

        return occurrences(self._code(key), stage, name, line=line)

    def what_if(
        self, key: str, *, registers: int, shared_bytes: int, num_warps: int
    ) -> Occupancy | None:
        """Return the occupancy for other resource demands; ``None`` if the GPU is unknown."""
        if key not in self._demands:
            from irlens.session.what_if import demand_of_capture, demand_of_report

            item = self._item(key)
            self._demands[key] = (
                demand_of_capture(item)
                if isinstance(item, Capture)
                else demand_of_report(self.report(key))
            )
        demand = self._demands[key]
        if demand is None:
            return None
        return demand.occupancy(registers=registers, shared_bytes=shared_bytes, num_warps=num_warps)

    def compare(self, before: str, after: str) -> Comparison:
        """Return the comparison of two entries' reports."""
        from irlens.diff.report import compare

        return compare(self.report(before), self.report(after))

    def code(self, before: str, after: str, stage: str) -> CodeComparison:
        """Return the comparison of a stage's code."""
        from irlens.diff.code import compare_code

        comparison = self.compare(before, after)
        names = (comparison.before.label, comparison.after.label)
        return compare_code(self._code(before), self._code(after), stage, names=names)

    def settings(self, key: str) -> Sequence[Setting]:
        """Return the settings that can be changed; empty for a saved report.

        Raises ``CaptureError`` if the kernel's source is unknown or was deleted.
        """
        from irlens.session.recompile import settings_of

        capture = self._capture_or_none(key)
        return settings_of(capture, self._source(key, capture)) if capture is not None else ()

    def recompile(self, key: str, changes: dict[str, str]) -> Entry:
        """Recompile with changed settings, and return the new entry.

        Args:
            key: The entry to recompile. The source may have changed since it was compiled.
            changes: New values by name, in the syntax of ``Setting.value``.
        """
        cancels = self._compilations.cancels  # before anything slow
        from irlens.session.recompile import request_of

        capture = self._capture_or_none(key)
        if capture is None:
            raise CaptureError("the kernel's source is unknown")
        request = request_of(capture, self._source(key, capture), changes)
        captures = self._compilations.compile(request, cancels)
        self._items |= captures
        return self.entry(next(iter(captures)))

    def saved(self, key: str, until: threading.Event, take: Callable[[str], bool]) -> str:
        """Wait until a source file of the entry is saved, and return the file's name.

        Args:
            take: Receives the file's name and returns whether the caller recompiles now. If it
                does not, the next call reports the same save again.

        Returns:
            The name, or "" if ``until`` was set or ``take`` declined, and at once if the source
            of the entry is unknown. A save that is newer than the entry is reported at once,
            unless the entry was recompiled since.
        """
        return self._compilations.wait_for_save(key, until, take)

    def remake(self, key: str) -> Entry:
        """Recompile an entry with its own settings from the current source."""
        captures = self._compilations.recompile(key)
        config = self._capture(key).config
        self._items |= captures
        # Of an autotuner's configurations the same one, unless it no longer exists.
        same = (other for other, capture in captures.items() if capture.config == config)
        return self.entry(next(same, next(iter(captures))))

    def suggest(self, key: str, inquiry: Inquiry) -> Suggestion:
        """Compile the neighbours of an entry's configuration, and return the fastest.

        The source may have changed since the entry was compiled. Raises ``IrlensError`` if the
        kernel's source or the entry's time is unknown, or the inquiry is cancelled.
        """
        from irlens.sweeps.suggesting import unknown_time

        time = self.report(key).time
        if time is None or time.estimate_us is None:
            raise unknown_time(time.reason if time is not None else "")
        return super().suggest(key, inquiry)

    def cancel(self) -> None:
        """Cancel the ``recompile`` or ``remake`` of another thread, which raises."""
        self._compilations.cancel()

    def close(self) -> None:
        """Cancel as ``cancel`` does, and save what the next session can use."""
        self.cancel()
        self._inquirer.close()
        self._save_index()

    def explain(self, code: str) -> str:
        """Return the documentation of a finding, in Markdown."""
        from irlens.session.explain import explain

        return explain(code)

    def _item(self, key: str) -> Capture | Report | Uncompiled:
        try:
            item = self._items[key]
        except KeyError:
            raise ArtifactError(f"there is no {key}") from None
        if isinstance(item, Indexed):
            item = self._items[key] = item.capture()
        return item

    def _capture(self, key: str) -> Capture:
        """Return the capture of an entry, which is compiled if needed."""
        item = self._item(key)
        if isinstance(item, Report):
            raise ArtifactError(
                "a saved report holds no code", hint="open the capture that it was made from"
            )
        if isinstance(item, Capture):
            return item
        with self._compiling:  # other requests for it wait for the same compilation
            if key not in self._compilations.captures:
                cancels = self._compilations.cancels
                request = self._request_for(item.name)
                self._items |= self._compilations.compile_listed(key, request, cancels)
            return self._compilations.captures[key]

    def _code(self, key: str) -> CaptureCode:
        """Return the code of an entry, which is compiled if needed."""
        digest = self._capture(key).digest  # somebody may write into its files, or remove them
        with self._coding:
            return self._code_of(key, digest)

    def _parsed_code(self, key: str, _digest: bytes) -> CaptureCode:
        return CaptureCode(self._capture(key))

    def _capture_or_none(self, key: str) -> Capture | None:
        """Return the capture of an entry, ``None`` for a saved report."""
        return None if isinstance(self._item(key), Report) else self._capture(key)

    def _source(self, key: str, capture: Capture) -> str:
        """Return the kernel that a capture was compiled from, as the command line names it."""
        from irlens.session.recompile import source_of, unknown_source

        request = self._compilations.request(key)
        source = source_of(capture, request.kernel if request is not None else None)
        if source is None:
            raise unknown_source(capture)
        return source

    def _captures_of(self, kernel: str) -> list[Capture]:
        """Return the listed captures of a kernel; those that are gone are left out."""
        found = []
        for key, item in list(self._items.items()):
            if isinstance(item, Indexed) and item.entry.kernel == kernel:
                with suppress(ArtifactError):
                    item = self._items[key] = item.capture()
            if isinstance(item, Capture) and item.kernel == kernel:
                found.append(item)
        return found

    def _place(self, capture: Capture) -> str:
        return listed_entries.display_path(capture.directory or capture.first_path, self._root)
