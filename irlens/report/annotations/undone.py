"""Marks of what the assembler undid: serialized matrix products of ``wgmma``."""

from msgspec.structs import replace

from irlens.model.listing import StageListing
from irlens.model.report import Report
from irlens.rules import serialized_products

#: How the products of a warpgroup, and what commits and awaits them, are called before ptxas.
_WORDS = {"ttgir": "ttng.warp_group_dot", "llir": "wgmma", "ptx": "wgmma."}
_NOTE = (
    f"{serialized_products.CODE}: ptxas serialized the matrix products, so that in the machine"
    " code each is waited for before the next is issued"
)


def mark_undone(listing: StageListing, report: Report) -> StageListing:
    """Say of the marks that ptxas made nothing of that it did not.

    Marks in machine code are those of what ptxas made; in the stages before it they are of what
    it was asked for.
    """
    word = _WORDS.get(listing.stage)
    serialized = any(each.code == serialized_products.CODE for each in report.findings)
    if word is None or not serialized:
        return listing
    lines = listing.lines
    marks = [
        replace(mark, serialized=True) if word in lines[mark.line - 1] else mark
        for mark in listing.marks
    ]
    told = any(mark.serialized for mark in marks)
    return replace(listing, marks=marks, note=_NOTE if told else "")
