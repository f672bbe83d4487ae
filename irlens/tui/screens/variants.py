"""The variants of the kernel: what Triton compiles it for, and what tells them apart."""

from irlens.render.options import Options
from irlens.render.view.nodes import Section
from irlens.render.view.variants import suggested_range, variants_view
from irlens.session.workbench import Inquiry
from irlens.tui.screens.answer import AnswerScreen


class VariantsScreen(AnswerScreen):
    """What ``irlens variants`` says of the kernel."""

    VIEW = "variants"
    TITLE = "Variants"
    ASKING = "compiling variants"
    VARY_HINT = "arguments that vary: n_cols=1..131072 dtype=1,2"
    HELP_TEXT = """\
Triton compiles a kernel again for each type of an argument, for integers that are 1 or divisible by
16, for the alignment of pointers, and for each value of a constexpr and an option. At first this is
the variant of one launch.

`a` varies arguments, `n_cols=1..131072`, several of them with a space between: each variant that
the launches need is compiled, in at most a minute. Variants with the machine code of another are
needless; below are the changes that would leave fewer, with their price in time.

Where the kernel's source is unknown, these are the variants among the listed captures.
"""

    def question(self, inquiry: Inquiry) -> Section:
        """Return the variants of the entry's launch, or of those that vary."""
        variants = self.bench.variants(self.key, self.asked, inquiry)
        self.offered = suggested_range(variants.kernels[0]) or self.offered
        return variants_view(variants, Options(subject=None))
