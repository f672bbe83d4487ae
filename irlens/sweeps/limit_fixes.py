"""Applies the fix of an overflow to a copy of the kernel's file, and finds where it then breaks."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from irlens.artifacts.temporary_folders import TemporaryFolder
from irlens.compiler import KernelSource, find_kernel
from irlens.compiler.sources.widening import operation_start, widened_versions
from irlens.model.limits import Cause, Edit, Fix, Limit
from irlens.sweeps.limit_probes import Probe, Prober

#: Edits of one fix at most: each access may compute its own offset.
_MOST_EDITS = 8
#: Overflows that are fixed one after the other: the sizes from there on are searched for each.
_MOST_ROUNDS = 3
#: Versions of an edit that are tried.
_MOST_VERSIONS = 4


def fix_of(
    kernel: str,
    limit: Limit,
    prober_of: Callable[[str], Prober],
    search: Callable[[Prober, int], tuple[Fix, Limit | None]],
) -> Fix:
    """Return what becomes of an overflow with wider integers.

    Where another overflow follows, its operands are wide, too, as long as that moves the limit.

    Args:
        search: Finds the next limit, from a size on.
    """
    source = find_kernel(kernel)
    text, edits, size = source.content.decode(errors="replace"), list[Edit](), limit.size
    cause: Cause | None = limit.cause
    found: list[Fix] = []
    while cause is not None and len(found) < _MOST_ROUNDS:
        if len(edits) == _MOST_EDITS:
            return _last(found, edits, f"{len(edits)} edits were not enough")
        if cause.at is None or cause.at.file != source.path.name:
            where = f"in {cause.at.file}" if cause.at is not None else "unknown"
            return _last(found, edits, f"the operation is {where}")
        reason = "no operand of the operation can be edited"
        versions = widened_versions(text, cause.at, cause.word)
        for (version, edit), _ in zip(versions, range(_MOST_VERSIONS), strict=False):
            with _copied(source, version) as copy:
                prober = prober_of(copy)
                prober.probe([size])
                probe = prober.probes[size]
                if reason := _refused(probe, cause, text, version):
                    continue
                text, cause = version, probe.causes.get("overflow")
                edits.append(edit)
                if cause is None:
                    fix, following = search(prober, size)
                    found.append(msgspec.structs.replace(fix, edits=[*edits]))
                    if following is not None and following.kind == "overflow":
                        cause, size = following.cause, following.size
                break
        else:
            return _last(found, edits, reason)
    return _last(found, edits, "")


def _last(found: Sequence[Fix], edits: list[Edit], reason: str) -> Fix:
    """Return the last fix of an overflow; without one, why there is none."""
    return found[-1] if found else Fix(edits=edits, unknown=reason)


def _refused(probe: Probe, cause: Cause, text: str, version: str) -> str:
    """Return why a version of a file is no fix of an operation; empty if it is one."""
    if probe.unknown:
        return probe.unknown
    if "compile" in probe.causes:
        return probe.causes["compile"].reason
    overflow = probe.causes.get("overflow")
    if overflow is None or cause.at is None or overflow.at is None:
        return ""
    if (overflow.at.file, overflow.word) != (cause.at.file, cause.word):
        return ""
    start = operation_start(text, cause.at, cause.word)
    same = start == operation_start(version, overflow.at, cause.word)
    return "it overflows as before" if same else ""


@contextmanager
def _copied(source: KernelSource, text: str) -> Iterator[str]:
    """Yield KERNEL of an edited copy of a file, which imports what the file does."""
    top = source.path.parent
    while (top / "__init__.py").is_file():
        top = top.parent
    with TemporaryFolder() as temporary:
        folder, original = Path(temporary), top
        for part in source.path.relative_to(top).parts:
            for each in original.iterdir():
                if each.name != part and each.name != "__pycache__":
                    (folder / each.name).symlink_to(each)
            folder, original = folder / part, original / part
            if original != source.path:
                folder.mkdir()
        folder.write_text(text)
        yield f"{folder}:{source.function}"
