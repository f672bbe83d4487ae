"""The two sides of a comparison: which captures and reports are compared with which."""

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec.structs import replace

from irlens.model.capture import Capture, Manifest
from irlens.model.code import CodeComparisons
from irlens.model.comparison import Comparisons, Side
from irlens.model.errors import IrlensError
from irlens.model.label import labels
from irlens.model.passes import PassesDiff
from irlens.model.report import Report
from irlens.model.text import first_of
from irlens.session import Configurations, is_compiled
from irlens.session.background import disassembling
from irlens.session.documents import saved_reports
from irlens.session.program_changes import program_changes
from irlens.session.reports import Needs
from irlens.session.session import Session

if TYPE_CHECKING:  # it loads what prints and compares passes
    from irlens.session.passes import Printed

#: Entries of a side without a counterpart that an error names.
_MOST_NAMED = 4


class Sides:
    """The two sides of a comparison, or several configurations of one kernel.

    Args:
        after: AFTER, ``None`` if the options' values make the sides.
        names: Labels of the sides; by default, the settings that tell them apart.

    Attributes:
        drawn: After ``compare``, the reports of each pair in the order of the comparison's; none
            where two sets were matched.
    """

    def __init__(
        self,
        before: str,
        after: str | None,
        configurations: Configurations,
        session: Session,
        *,
        names: tuple[str, str] | None = None,
    ) -> None:
        self.drawn: tuple[tuple[Report, Report], ...] = ()
        self._before, self._after = before, after
        self._configurations = configurations
        self._session = session
        self._names = names

    def compare(self, needs: Needs) -> Comparisons:
        """Return the comparison of the reports."""
        from irlens import diff
        from irlens.diff.report.comparisons import (
            across,
            against_first,
            by_other_settings,
            match,
        )

        read, configurations = self._session.reports, self._configurations
        if self._after is not None:
            before, after, equal = self._both_reports(self._after, needs)
            comparisons = match(before, after, equal, names=self._names)
            if not comparisons.pairs:
                raise self._nothing_in_common(before, after)
            if len(before) == len(after) == 1 and not equal:
                self.drawn = ((before[0], after[0]),)
            if self._before == self._after:  # two versions of one: its launches are the same
                return comparisons
            return replace(comparisons, programs=program_changes(self._before, self._after))
        if len(configurations.tritons) > 1:
            each_triton = configurations.by_triton()
            return across([read(self._before, one, needs.disassembly) for one in each_triton])
        reports = read(self._before, configurations, needs.disassembly)
        if len(reports) == 1:
            raise self._one_side()
        if self._varied and (compared := by_other_settings(reports, self._varied)):
            return compared
        self.drawn = tuple(
            (first, other) for first, *others in diff.first_sides(reports) for other in others
        )
        return against_first(reports)

    @property
    def _varied(self) -> set[str]:
        """The settings with several values, if nothing else has some."""
        configurations = self._configurations
        args = (values for _, values in configurations.args)
        if len(configurations.targets) > 1 or any(len(values) > 1 for values in args):
            return set()
        return {name for name, values in configurations.settings if len(values) > 1}

    def compare_code(self, stages: str, context: int) -> CodeComparisons:
        """Return the comparison of the code of some stages, with lines of context."""
        from irlens.diff.code import check_stages
        from irlens.diff.code.captures import compare_across, compare_sets

        names = check_stages(stages.split(","))
        configurations = self._configurations
        if self._after is not None:
            before, after = self._both_captures(self._after)
            with disassembling(
                [each.stages for each in (*before, *after)] if "sass" in names else []
            ):
                comparisons = compare_sets(before, after, names, sides=self._names, context=context)
            if not comparisons.pairs:
                raise self._nothing_in_common(before, after)
            return comparisons
        each_triton = configurations.by_triton() if configurations.tritons else [configurations]
        sides = [self._session.captures(self._before, one) for one in each_triton]
        if len(sides) == len(sides[0]) == 1:
            raise self._one_side()
        with disassembling(
            [each.stages for side in sides for each in side] if "sass" in names else []
        ):
            return compare_across(sides, names, varied=self._varied, context=context)

    def compare_passes(self, context: int, printed: "Printed") -> PassesDiff:
        """Return the comparison of one compilation of each side after each pass."""
        from irlens.session.passes import compare_passes, two_selections

        if self._after is None:
            sides = two_selections(self._before, self._configurations)
        else:
            first, second = self._split_options(self._after)
            sides = (self._before, first), (self._after, second)
        return compare_passes(*sides, self._session, context, printed, names=self._names)

    def _both_reports(
        self, after: str, needs: Needs
    ) -> tuple[Sequence[Report], Sequence[Report], Sequence[Side]]:
        first, second = self._split_options(after)
        sides = ((self._before, first), (after, second))
        (before, now), equal = self._session.reports_of_sides(sides, needs)
        return before, now, equal

    def _both_captures(self, after: str) -> tuple[Sequence[Capture], Sequence[Capture]]:
        first, second = self._split_options(after)
        return self._session.captures(self._before, first), self._session.captures(after, second)

    def _split_options(self, after: str) -> tuple[Configurations, Configurations]:
        """Return the configurations of each side: options apply to the side not yet compiled."""
        compiled = is_compiled(self._before), is_compiled(after)
        if compiled == (True, False):
            return Configurations(), self._configurations
        if compiled == (False, True):
            return self._configurations, Configurations()
        return self._configurations, self._configurations

    def _one_side(self) -> IrlensError:
        return IrlensError(
            f"{self._before} alone is one side of a comparison",
            hint="name a second, or give an option several values: --num-stages 2,4",
        )

    def _nothing_in_common(
        self, before: Sequence[Report | Capture], after: Sequence[Report | Capture]
    ) -> IrlensError:
        shared = {each.kernel for each in before} & {each.kernel for each in after}
        what = f"configuration of {', '.join(sorted(shared))}" if shared else "kernel"
        sides = (self._before, str(self._after))
        kept = [
            [each for each in one if not shared or each.kernel in shared] for one in (before, after)
        ]
        every, first = labels([*kept[0], *kept[1]]), len(kept[0])
        lines = [
            f"{side} has {first_of(list(dict.fromkeys(names)), _MOST_NAMED, '; ')}"
            for side, names in zip(sides, (every[:first], every[first:]), strict=True)
        ]
        entries = [self._entry(*each) for each in zip(sides, kept, strict=True)]
        if None not in entries:
            command = shlex.join(["irlens", "diff", *filter(None, entries)])
            lines.append(f"any two are compared by the paths of their entries:  {command}")
        return IrlensError(f"{' and '.join(sides)} have no {what} in common", hint="\n".join(lines))

    def _entry(self, side: str, kept: Sequence[Report | Capture]) -> str | None:
        """Return the path of the first entry of a side, if its captures have one."""
        if not is_compiled(side) or saved_reports(side) is not None:
            return None
        kernels = {each.kernel for each in kept}
        for capture in self._session.captures(side, Configurations()):
            if capture.kernel in kernels and capture.directory is not None:
                return str(capture.directory)
        return None


class _OfOneKernel(Sides):
    """A kernel in two versions of its file, each compiled or taken from the store."""

    def _both_reports(
        self, after: str, needs: Needs
    ) -> tuple[Sequence[Report], Sequence[Report], Sequence[Side]]:
        before, now = (
            [one for _, one in self._session.inspect(after, captures, needs.disassembly)]
            for captures in self._both_captures(after)
        )
        return before, now, ()


class SinceLastSave(_OfOneKernel):
    """A kernel before and after the last change of its file.

    The side before is what the store holds of the kernel in another version of the file.
    """

    def __init__(self, kernel: str, configurations: Configurations, session: Session) -> None:
        names = ("last save", "now")
        super().__init__(kernel, kernel, configurations, session, names=names)

    def _both_captures(self, after: str) -> tuple[Sequence[Capture], Sequence[Capture]]:
        now = self._session.captures(after, self._configurations)
        before = previous_versions(now)
        if not before:
            raise IrlensError(
                f"irlens's store has no earlier version of {after} in this configuration",
                hint="inspect a kernel before editing it, or compare with git: --git HEAD",
            )
        return before, now


class RecordedRevisions(_OfOneKernel):
    """Captured launches, compiled from two versions of their files.

    Args:
        captures: A capture, or a directory of them such as a recording.
        revisions: The revisions of git, ``None`` for a file as it is now.
    """

    def __init__(
        self,
        captures: str,
        revisions: tuple[str | None, str | None],
        configurations: Configurations,
        session: Session,
        names: tuple[str, str],
    ) -> None:
        super().__init__(captures, captures, configurations, session, names=names)
        self._revisions = revisions

    def compare_passes(self, context: int, printed: "Printed") -> PassesDiff:
        """Return the comparison of one launch after each pass."""
        from irlens.session.configuration_choice import single_request
        from irlens.session.passes import compare_requests

        request = single_request(self._before, self._configurations, self._session)
        before, after = (
            replace(request, kernel=_at(request.kernel, each)) for each in self._revisions
        )
        return compare_requests((before, after), self._session, context, printed, names=self._names)

    def _both_captures(self, after: str) -> tuple[Sequence[Capture], Sequence[Capture]]:
        requests = list(self._session.requests(after, self._configurations))
        before, now = (
            [
                each
                for one in requests
                for each in self._session.compile(replace(one, kernel=_at(one.kernel, revision)))
            ]
            for revision in self._revisions
        )
        return before, now


class _Revisions(Sides):
    """A kernel in two versions of its file, of which git has one or both.

    Args:
        named: The revisions as the user wrote them.
        revisions: The revisions of git, ``None`` for the file as it is now.
    """

    def __init__(
        self,
        kernel: str,
        named: str,
        revisions: tuple[str | None, str | None],
        configurations: Configurations,
        session: Session,
        names: tuple[str, str],
    ) -> None:
        from irlens.compiler.sources.lookup import find_file

        before, after = (_at(kernel, each) for each in revisions)
        super().__init__(before, after, configurations, session, names=names)
        self._kernel, self._named = kernel, named
        self._file = kernel if ".py" in kernel else str(find_file(kernel))
        exported = zip((before, after), revisions, strict=True)
        self._exported = {spec: revision for spec, revision in exported if revision is not None}
        session.word_notes(self._as_named)

    def compare(self, needs: Needs) -> Comparisons:
        """Return the comparison of the reports."""
        with self._explained():
            return super().compare(needs)

    def compare_code(self, stages: str, context: int) -> CodeComparisons:
        """Return the comparison of the code of some stages, with lines of context."""
        with self._explained():
            return super().compare_code(stages, context)

    def compare_passes(self, context: int, printed: "Printed") -> PassesDiff:
        """Return the comparison of one compilation of each side after each pass."""
        with self._explained():
            return super().compare_passes(context, printed)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Name in errors what the user named, not where the store keeps a revision's files."""
        try:
            yield
        except IrlensError as error:
            message = error.message
            for spec, revision in self._exported.items():
                path, own = (each.partition(".py:")[0] for each in (spec, self._file))
                message = message.replace(path, f"{revision}:{own}")
            raise IrlensError(message, hint=self._as_named(error.hint or "") or None) from error

    def _as_named(self, text: str) -> str:
        """Return a hint or a note about what the user named; a command compares the revisions."""
        for spec in self._exported:
            path, own = (each.partition(".py:")[0] for each in (spec, self._file))
            text = re.sub(
                rf"irlens inspect {re.escape(shlex.quote(spec))}(?P<function>:\w+)?",
                lambda found: (
                    f"irlens diff {self._kernel}{found['function'] or ''} --git {self._named}"
                ),
                text,
            ).replace(path, own)
        return text


def _at(kernel: str, revision: str | None) -> str:
    """Return a KERNEL in its file as it was in a revision, or as it is now."""
    if revision is None:
        return kernel
    from irlens.artifacts.revisions import export, is_kept
    from irlens.compiler.sources.lookup import find_file, split_spec

    path, (_, function) = find_file(kernel), split_spec(kernel)
    if is_kept(str(path)):
        raise IrlensError(f"git has no versions of {path.name}: only the recording has it")
    file = export(path, revision)
    return f"{file}:{function}" if function else str(file)


def between_revisions(
    kernel: str, revisions: str, configurations: Configurations, session: Session
) -> Sides:
    """Return a kernel in two versions of its file.

    Args:
        kernel: KERNEL; a capture or a recording is compiled again from both versions.
        revisions: "A..B", or "A" for A and the file as it is now.

    Raises:
        IrlensError: Git does not have the kernel's file in a revision.
    """
    first, dots, second = revisions.partition("..")
    old, new = first or "HEAD", second or "HEAD" if dots else None
    names = (old, new or "working tree")
    if is_compiled(kernel):
        return RecordedRevisions(kernel, (old, new), configurations, session, names)
    return _Revisions(kernel, revisions, (old, new), configurations, session, names)


def previous_versions(captures: Sequence[Capture]) -> list[Capture]:
    """Return what the store holds of the same configurations from an earlier version of the file.

    Returns:
        For each capture that has one, the most recently used capture of the same kernel, target
        and configuration, made from other source.
    """
    from irlens.artifacts import store
    from irlens.artifacts.load import load
    from irlens.diff import requested

    if not captures:
        return []
    latest: dict[object, tuple[float, Capture]] = {}
    current = {requested(one): one for one in captures}
    for other in load(store.captures()):
        if not isinstance(other, Capture) or other.directory is None:
            continue
        one = current.get(requested(other))
        if one is None or not _is_earlier(other, one):
            continue
        used = other.directory.parent.stat().st_mtime
        if used > latest.get(requested(one), (0.0, one))[0]:
            latest[requested(one)] = used, other
    return [capture for _, capture in latest.values()]


def _is_earlier(other: Capture, current: Capture) -> bool:
    """Whether a capture is of the same file and compiler as another, but of other source."""
    one, two = other.manifest, current.manifest
    if one is None or two is None:
        return False
    if (_path(one), one.triton_version) != (_path(two), two.triton_version):
        return False
    return other.python_texts() != current.python_texts()


def _path(manifest: Manifest) -> str:
    """Return the path of the kernel's file, or its base name if the manifest has no more."""
    return manifest.source.path if manifest.source is not None else manifest.file
