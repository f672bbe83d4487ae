"""Pipeline annotations: the copies, commits and waits in a stage's text, and what pairs them.

The report's pipelines are about loops; these are the instructions behind them, including those
before and after the loops. ``isa`` says what each instruction begins, commits and awaits. A module
of this package, one per dialect, feeds that to an ``Annotator`` together with each instruction's
``Site``; pairing and numbering are the same for all.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from irlens.analyze.graph import FlowGraph
from irlens.analyze.outstanding import follow
from irlens.analyze.pipelines.ptx_loops import FunctionLoops
from irlens.isa.events import Commit, Copy, Event, Wait
from irlens.isa.ptx import Instruction as PtxInstruction
from irlens.isa.ptx.copies import uses_barrier
from irlens.model.listing import PipelineAnnotation, PipelineRole
from irlens.model.report import Pipeline, PipelineKind
from irlens.model.several import only
from irlens.model.source import SourceLocation, user_frame

#: Identifies a loop's pipeline: the loop (by the line of its header, say) and the mechanism.
LoopKey: TypeAlias = tuple[Hashable, PipelineKind]
#: Numbers of pipelines, by the loop's key where that has one, and for each matrix product by the
#: loop's key and the product's place in the source.
Numbers: TypeAlias = Mapping[LoopKey | tuple[LoopKey, str], int]
#: Identifies an annotation: the instruction, by a number that orders them, and the role.
Key: TypeAlias = tuple[int, PipelineRole]

#: The roles that an annotation of PTX points to.
_LEADS_TO: dict[PipelineRole, tuple[PipelineRole, ...]] = {
    "copy": ("commit", "wait"),
    "commit": ("wait",),
    "wait": ("commit", "copy"),
}


class Site(msgspec.Struct, frozen=True):
    """Where an instruction stands.

    Attributes:
        line: 1-based line of the stage.
        loops: The pipelines it may belong to by its place, the innermost loop's first.
        origin: Its mechanism and place in the source, if known; code that a compiler peels off a
            loop keeps them.
        place: Its line of Python, "file:line"; empty if unknown.
    """

    line: int
    loops: tuple[LoopKey, ...] = ()
    origin: Hashable = None
    place: str = ""


class PtxAnnotations(msgspec.Struct, frozen=True):
    """The PTX of a kernel with its annotations, which other stages take over.

    Attributes:
        loops: The loops; ``None`` without PTX.
    """

    instructions: Mapping[int, PtxInstruction] = {}
    annotations: Sequence[PipelineAnnotation] = ()
    loops: FunctionLoops | None = None


class _Annotation(msgspec.Struct):
    """An annotation that is not final yet.

    Attributes:
        pipeline: Number of its pipeline in the report, where known without its place.
    """

    site: Site
    partners: set[Key] = msgspec.field(default_factory=set)
    pipeline: int | None = None


_Annotations: TypeAlias = Mapping[Key, _Annotation]


class Annotator:
    """Collects and pairs the annotations of one text."""

    def __init__(self) -> None:
        self._annotations: dict[Key, _Annotation] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self._annotations

    def add(self, at: int, role: PipelineRole, site: Site) -> Key:
        """Annotate an instruction, unless it already has that role."""
        key: Key = (at, role)
        self._annotations.setdefault(key, _Annotation(site))
        return key

    def move(self, key: Key, loops: tuple[LoopKey, ...]) -> None:
        """Replace the pipelines that an annotation may belong to."""
        annotation = self._annotations[key]
        annotation.site = msgspec.structs.replace(annotation.site, loops=loops)

    def point(self, one: Key, other: Key) -> None:
        """Make one annotation point to another, as a copy points to its commit."""
        self._annotations[one].partners.add(other)

    def join(self, one: Key, other: Key) -> None:
        """Make two annotations point to each other."""
        self.point(one, other)
        self.point(other, one)

    def add_groups(
        self,
        graph: FlowGraph,
        events: Mapping[int, Sequence[Event]],
        site_of: Callable[[Event], Site | None],
        *,
        empty: bool = True,
        lone_waits: bool = True,
    ) -> None:
        """Annotate the copies, commits and waits of commit groups, and pair them.

        Args:
            site_of: Returns the site of an event; ``None`` where it only takes part in counting.
            empty: Whether a wait is paired with a commit that collects nothing.
            lone_waits: Whether a wait that retires nothing is annotated.
        """
        waits = {}
        annotated = False
        for event in (event for block in events.values() for event in block):
            role = _role(event)
            if isinstance(event, Wait):
                waits[event.at] = event
            if role is None or (role == "wait" and not lone_waits):
                continue
            site = site_of(event)
            if site is not None:
                self.add(event.at, role, site)
                annotated = True
        if not annotated:
            return
        followed = follow(graph, events)
        for copy, end in followed.closed:
            if (end, "commit") in self:
                self.point((copy, "copy"), (end, "commit"))
            else:  # wait_all: no commit of its own
                self.join((copy, "copy"), (end, "wait"))
        filled = {end for _, end in followed.closed}
        for group, wait in followed.retired:
            if (group, "copy") in self:
                site = site_of(waits[wait])
                if site is not None:
                    self.join((group, "copy"), self.add(wait, "wait", site))
            elif (group, "commit") in self and (empty or group in filled):
                self.join((group, "commit"), (wait, "wait"))

    def take_over(self, original: PtxAnnotations, same: Mapping[int, PtxInstruction]) -> None:
        """Take the pipelines, and the pairs that work through barriers, from the PTX.

        Which barrier an instruction means is followed in the PTX alone.

        Args:
            same: By instruction of this text, the instruction of PTX it corresponds to, if known.
        """
        in_ptx = {(each.line, each.role): each for each in original.annotations}
        counterparts: dict[tuple[int, PipelineRole], list[Key]] = {}
        for at, role in self._annotations:
            if at in same and (same[at].line, role) in in_ptx:
                counterparts.setdefault((same[at].line, role), []).append((at, role))
        for place, keys in counterparts.items():
            annotation = in_ptx[place]
            partners = [
                partner
                for line in annotation.partners
                for role in _LEADS_TO[annotation.role]
                for partner in counterparts.get((line, role), ())
            ]
            for key in keys:
                self._annotations[key].pipeline = annotation.pipeline
                if uses_barrier(same[key[0]]):
                    self._annotations[key].partners.update(partners)

    def finish(self, numbers: Numbers) -> list[PipelineAnnotation]:
        """Return the annotations in ascending order, each with its pipeline if that is known.

        An instruction in no loop with a pipeline (a prologue, the last wait) belongs to the
        pipeline of its partners if they agree, or else to that of the instructions with the same
        origin.

        Args:
            numbers: The report's pipelines, by ``number_by_header`` or ``number_by_source``.
        """
        annotations = self._annotations
        own = {key: _own_pipeline(key[1], each, numbers) for key, each in annotations.items()}
        by_partner = _spread_to_partners(own, annotations)
        final = _spread_to_partners(_spread_by_origin(by_partner, annotations), annotations)
        lines: dict[tuple[int, PipelineRole], set[int]] = {}
        chosen: dict[tuple[int, PipelineRole], int | None] = {}
        for key, annotation in sorted(annotations.items(), key=lambda item: item[0]):
            place = (annotation.site.line, key[1])  # instructions of one line become one
            partners = {annotations[partner].site.line for partner in annotation.partners}
            lines.setdefault(place, set()).update(partners)
            chosen.setdefault(place, final[key])
        return [
            PipelineAnnotation(
                line=line,
                role=role,
                pipeline=chosen[line, role],
                partners=tuple(sorted(lines[line, role])),
            )
            for line, role in sorted(lines)
        ]


def site_in_loops(
    line: int,
    origin: tuple[SourceLocation, ...],
    kind: PipelineKind | None,
    around: Iterable[Hashable],
) -> Site:
    """Return the site of an instruction in some loops.

    Args:
        origin: Its place in the source, innermost frame first; empty if unknown.
        kind: Its mechanism; ``None`` where no pipeline of the report has it.
        around: Identities of the loops around it, as ``number_by_header`` or ``number_by_source``
            has them, innermost first; ``None`` for a loop without one.
    """
    known = () if kind is None else ((loop, kind) for loop in around if loop is not None)
    # Lines of the source have waits of several mechanisms.
    place = str(user_frame(origin)) if origin else ""
    return Site(line, tuple(known), (kind, origin) if origin else None, place)


def number_by_header(pipelines: Iterable[Pipeline], stage: str) -> Numbers:
    """Number the pipelines of a stage by their loop's header line and their mechanism."""
    return _numbered(
        ((each.line, each.kind), each.product, number)
        for number, each in enumerate(pipelines)
        if each.stage == stage and each.kind is not None
    )


def number_by_source(pipelines: Iterable[Pipeline]) -> Numbers:
    """Number the pipelines by their ``for`` and mechanism, where these are unique.

    For stages other than the one the pipelines come from: the lines of the loops differ.
    """
    return _numbered(
        ((str(each.source), each.kind), each.product, number)
        for number, each in enumerate(pipelines)
        if each.kind is not None
    )


def _numbered(found: Iterable[tuple[LoopKey, str, int]]) -> Numbers:
    """Return the numbers of pipelines whose loop and mechanism, or product, are unique."""
    known = list(found)
    loops, products = Counter(key for key, _, _ in known), Counter((k, p) for k, p, _ in known)
    numbers: dict[LoopKey | tuple[LoopKey, str], int] = {}
    for key, product, number in known:
        if loops[key] == 1:
            numbers[key] = number
        if product and products[key, product] == 1:
            numbers[key, product] = number
    return numbers


def _role(event: Event) -> PipelineRole | None:
    match event:
        case Copy() | Commit(copies=True):
            return "copy"
        case Commit(implicit=implicit):
            return None if implicit else "commit"
        case Wait():
            return "wait"


def _own_pipeline(role: PipelineRole, annotation: _Annotation, numbers: Numbers) -> int | None:
    """Return the pipeline that an instruction belongs to by its place.

    Where a loop has several products, a wait belongs to what it retires.
    """
    if annotation.pipeline is not None:
        return annotation.pipeline
    site = annotation.site
    for loop in site.loops:
        if loop in numbers:
            return numbers[loop]
        if role != "wait" and (loop, site.place) in numbers:
            return numbers[loop, site.place]
    return None


def _spread_to_partners(
    own: Mapping[Key, int | None], annotations: _Annotations
) -> dict[Key, int | None]:
    """Give annotations without a pipeline that of their partners, transitively, if unique."""
    near = {key: set(each.partners) for key, each in annotations.items()}
    for key, annotation in annotations.items():
        for partner in annotation.partners:
            near[partner].add(key)
    reached = {key: set() if number is None else {number} for key, number in own.items()}
    pending = [key for key, number in own.items() if number is not None]
    while pending:
        key = pending.pop()
        for other in near[key]:
            if own[other] is None and not reached[key] <= reached[other]:
                reached[other] |= reached[key]
                pending.append(other)
    return {key: only(each) for key, each in reached.items()}


def _spread_by_origin(
    settled: Mapping[Key, int | None], annotations: _Annotations
) -> dict[Key, int | None]:
    """Give annotations without a pipeline that of those with their role and origin, if unique."""
    known: dict[tuple[PipelineRole, Hashable], set[int]] = {}
    for key, number in settled.items():
        if number is not None and annotations[key].site.origin is not None:
            known.setdefault((key[1], annotations[key].site.origin), set()).add(number)
    spread = dict(settled)
    for key, number in settled.items():
        alike = known.get((key[1], annotations[key].site.origin), set())
        if number is None and len(alike) == 1:
            spread[key] = next(iter(alike))
    return spread
