"""Ledgers as nodes: what the operations of a program move, and what fusing them saves."""

from collections.abc import Iterator

from irlens import figures
from irlens.model.ledger import FusionGroup, Ledger, LedgerOperation, Ledgers, Moved
from irlens.model.text import count, plural, rounded_size
from irlens.render.options import Options
from irlens.render.view import nodes
from irlens.render.view.nodes import Cells, Node, Run, row, table, text

_MORE = "; --all shows them"
_KINDS = {
    "reference": "PyTorch reference",
    "program": "program",
    "eager": "operations of the compiled graph, run one by one",
    "compiled": "as torch.compile runs it",
}
#: Factors below this round to 1.00.
_LEAST_FACTOR = 1.005


def ledgers_view(document: Ledgers, options: Options) -> nodes.Section:
    """Return ledgers; ``options`` limit the rows of their tables."""
    children: list[Node] = []
    compiled = {each.name: each for each in document.ledgers if each.kind == "compiled"}
    for ledger in document.ledgers:
        after = compiled.get(ledger.name) if ledger.kind == "eager" else None
        children.append(_ledger(ledger, after, options.rows))
    if document.notes:
        children.append(
            nodes.Section("Notes", (nodes.Items(tuple(map(text, document.notes))),), key="notes")
        )
    return nodes.Section(document.subject, tuple(children), key="ledgers")


def _ledger(ledger: Ledger, compiled: Ledger | None, rows: int | None) -> nodes.Section:
    """Return a ledger, with the sums of what a compiler made of the same function."""
    verdict = tuple(map(Run, ledger_verdict(ledger, compiled)))
    children: list[Node] = [nodes.Headline(verdict), _sums(ledger, compiled)]
    if ledger.operations:
        children.append(_operations(ledger, rows))
    if any(len(group.operations) > 1 for group in ledger.groups):
        children.append(_groups(ledger, rows))
    children += [nodes.Sentence(each, "dim", "At most") for each in ledger.at_most]
    children += [nodes.Sentence(each, "unknown", "Unknown") for each in ledger.unknown]
    aside = text(_KINDS[ledger.kind])
    return nodes.Section(ledger.name, tuple(children), key="ledger", aside=aside, wide=True)


def ledger_verdict(ledger: Ledger, compiled: Ledger | None = None) -> Iterator[str]:
    """Yield what fusing saves, in short statements."""
    separate, grouped = ledger.separate, ledger.grouped
    if not separate.kernels:
        yield "moves nothing: it returns views of its inputs"
        return
    if separate.kernels == 1:
        only = next(each for each in ledger.operations if each.group is not None)
        yield f"one operation: {only.name}"
        yield f"{_rounded(separate.total)} moved"
        return
    if ledger.kind == "compiled":
        yield f"{plural(separate.kernels, 'kernel')} move {_rounded(separate.total)}"
        return
    if compiled is not None:
        yield from _compiled_verdict(separate, compiled.separate)
        return
    yield f"{plural(separate.kernels, 'operation')} move {_rounded(separate.total)}"
    yield f"{plural(grouped.kernels, 'group')} would move {_rounded(grouped.total)}"
    yield from _saved(separate, grouped, "fusing saves nothing")


def _compiled_verdict(before: Moved, after: Moved) -> Iterator[str]:
    yield f"{plural(before.kernels, 'operation')} move {_rounded(before.total)}"
    moves = "moves" if after.kernels == 1 else "move"
    yield f"{plural(after.kernels, 'kernel')} of torch.compile {moves} {_rounded(after.total)}"
    yield from _saved(before, after, "compiling saves no bytes")


def _saved(more: Moved, less: Moved, nothing: str) -> Iterator[str]:
    """Yield by what factor fewer bytes move, or ``nothing``, where both sums are known."""
    if more.total is not None and less.total:
        factor = more.total / less.total
        yield f"{factor:.2f} × less" if factor >= _LEAST_FACTOR else nothing


def _sums(ledger: Ledger, compiled: Ledger | None) -> nodes.Table:
    columns = nodes.titled(
        "", *nodes.numeric("kernels", "bytes read", "bytes written", "of all"), ""
    )
    most = ledger.separate.total
    rows: list[Cells] = []
    parts = [("one by one", ledger.separate)]
    if ledger.kind != "compiled":
        parts.append(("in groups", ledger.grouped))
    if compiled is not None:
        parts.append(("by torch.compile", compiled.separate))
    for name, moved in (*parts, ("in one pass", ledger.one_pass)):
        share = None if moved.total is None or not most else moved.total / most
        rows.append([
            name,
            count(moved.kernels),
            _exact(moved.read_bytes),
            _exact(moved.written_bytes),
            figures.UNKNOWN if share is None else f"{share * 100:.1f} %",
            "" if share is None else nodes.Bar(share),
        ])  # fmt: skip
    return table(columns, rows, "bytes moved")


def _operations(ledger: Ledger, shown: int | None) -> nodes.Table:
    moved = nodes.numeric("read", "written", "group")
    columns = nodes.titled(*nodes.numeric("#"), "operation", "result", *moved, "why")
    rows = tuple(_operation(each) for each in ledger.operations)
    return nodes.Table(columns, rows, "operations", shown=shown, noun="operation", more=_MORE)


def _operation(operation: LedgerOperation) -> nodes.Row:
    moves = operation.kind != "view"
    most = "≤ " if operation.at_most else ""
    return row(
        count(operation.number),
        operation.name,
        ", ".join(operation.outputs),
        most + _rounded(operation.read_bytes) if moves else "",
        most + _rounded(operation.written_bytes) if moves else "",
        "" if operation.group is None else count(operation.group),
        Run(operation.reason, "dim"),
        tone="neutral" if moves else "dim",
    )


def _groups(ledger: Ledger, shown: int | None) -> nodes.Section:
    moved = nodes.numeric("bytes read", "bytes written", "saved")
    columns = nodes.titled(*nodes.numeric("group"), "operations", *moved)
    rows = tuple(_group(group) for group in ledger.groups)
    groups = nodes.Table(columns, rows, "groups", shown=shown, noun="group", more=_MORE)
    limit = nodes.Sentence(
        f"A row stays on chip up to {count(ledger.row_limit)} elements, half of the 65,536 "
        "registers that a CTA can have (--row-limit).",
        "dim",
    )
    return nodes.Section("Groups", (groups, limit), key="groups")


def _group(group: FusionGroup) -> nodes.Row:
    parts = (group.read_bytes, group.written_bytes)
    separate = (group.separate_read_bytes, group.separate_written_bytes)
    saved = None
    if None not in parts and None not in separate:
        saved = sum(each or 0 for each in separate) - sum(each or 0 for each in parts)
    return row(
        count(group.number),
        _ranges(group.operations),
        _exact(group.read_bytes),
        _exact(group.written_bytes),
        _rounded(saved),
        tone="neutral" if len(group.operations) > 1 else "dim",
    )


def _ranges(numbers: list[int]) -> str:
    """Return "#1–#3, #5" for 1, 2, 3, 5."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][-1] == number - 1:
            ranges[-1] = [ranges[-1][0], number]
        else:
            ranges.append([number])
    return ", ".join("–".join(f"#{each}" for each in ends) for ends in ranges)


def _exact(value: int | None) -> str:
    return figures.UNKNOWN if value is None else count(value)


def _rounded(value: int | None) -> str:
    return figures.UNKNOWN if value is None else rounded_size(value)
