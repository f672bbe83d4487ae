"""Compares the stages of two entries: the requested one first, then the others."""

import time
from collections.abc import Callable
from functools import partial

from irlens.model.errors import IrlensError
from irlens.tui.code.difference import Difference
from irlens.tui.screens import IrlensScreen

#: Rows up to which a difference is kept while another stage is shown: computing a larger one again
#: takes seconds.
_KEPT_ROWS = 20_000
#: Seconds for one stage above which the others are compared only on request.
_SLOW = 1.5


class StageComparison:
    """The differences between two entries, stage by stage.

    Args:
        screen: Computes them in threads, and drops them once it is closed.
        before: Key of the first entry.
        after: Key of the second entry.

    Attributes:
        differing_lines: Differing lines by stage; ``None`` for a stage that cannot be compared.
    """

    def __init__(
        self,
        screen: IrlensScreen,
        before: str,
        after: str,
        on_change: Callable[[], None],
    ) -> None:
        self._screen, self._bench = screen, screen.bench
        self._before, self._after = before, after
        self._on_change = on_change
        self._kept: dict[str, Difference] = {}
        self._is_slow = False
        self._is_closed = False
        self.stages: list[str] = []
        self.differing_lines: dict[str, int | None] = {}

    def close(self) -> None:
        """Drop the results that are still computed: other entries are compared now."""
        self._is_closed = True

    def common_stages(self) -> list[str]:
        """Return the stages of both entries; called in a thread."""
        theirs = self._bench.stages(self._after)
        return [stage for stage in self._bench.stages(self._before) if stage in theirs]

    def request(
        self,
        stage: str,
        on_result: Callable[[str, Difference], None],
        on_error: Callable[[str, IrlensError], None],
    ) -> None:
        """Compare a stage, and then another one that has not been compared."""

        def done(difference: Difference) -> None:
            self._keep(stage, difference)
            on_result(stage, difference)
            self._compare_next()

        def failed(error: IrlensError) -> None:
            self.differing_lines[stage] = None
            on_error(stage, error)
            self._on_change()

        if stage in self._kept:
            done(self._kept[stage])
        else:
            self._compare(stage, done, failed, group="code")

    def _compare_next(self) -> None:
        """Compare a stage that has not been compared, unless that takes long."""
        stage = next((name for name in self.stages if name not in self.differing_lines), None)
        if stage is None or self._is_slow:
            return

        def done(difference: Difference) -> None:
            self._keep(stage, difference)
            self._compare_next()

        def failed(_: IrlensError) -> None:
            self.differing_lines[stage] = None
            self._on_change()
            self._compare_next()

        # In a group of its own: starting the next comparison must not cancel this one.
        self._compare(stage, done, failed, group=f"count {stage}")

    def _compare(
        self,
        stage: str,
        on_result: Callable[[Difference], None],
        on_error: Callable[[IrlensError], None],
        *,
        group: str,
    ) -> None:
        since = time.monotonic()

        def done(difference: Difference) -> None:
            if not self._is_closed:
                self._is_slow = time.monotonic() - since > _SLOW
                on_result(difference)

        def failed(error: IrlensError) -> None:
            if not self._is_closed:
                on_error(error)

        compare = partial(self._bench.code, self._before, self._after, stage)
        self._screen.run_in_thread(lambda: Difference(compare()), done, failed, group=group)

    def _keep(self, stage: str, difference: Difference) -> None:
        comparison = difference.comparison
        self.differing_lines[stage] = comparison.added + comparison.removed + comparison.changed
        if len(difference.unified) <= _KEPT_ROWS:
            self._kept[stage] = difference
        self._on_change()
