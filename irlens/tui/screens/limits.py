"""The limits of the kernel: the smallest sizes at which it breaks."""

from irlens.render.view.limits import limits_view
from irlens.render.view.nodes import Section
from irlens.session.workbench import Inquiry
from irlens.tui.screens.answer import AnswerScreen


class LimitsScreen(AnswerScreen):
    """What ``irlens limits`` says of the kernel."""

    VIEW = "limits"
    TITLE = "Limits"
    ASKING = "evaluating launches"
    VARY_HINT = "sizes to vary: tokens batch=1..4096"
    HELP_TEXT = """\
For each size the smallest value at which an offset, a mask or a loop overflows its integers, an
access leaves its tensor, the grid exceeds the GPU's, a CTA does not fit, or the kernel does not
compile; with the program, the line and the value.

Launches are evaluated without a GPU, in powers of two and then between two of them, which may take
a minute for each size. `a` chooses the sizes, `tokens`, or `tokens=1..4096`; by default all vary
from 1 to 2^32.
"""

    def question(self, inquiry: Inquiry) -> Section:
        """Return the limits in all sizes, or in those that were chosen."""
        limits = self.bench.limits(self.key, self.asked, inquiry)
        self.offered = " ".join(each.name for each in limits.sizes)
        return limits_view(limits)
