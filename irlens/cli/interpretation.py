"""``irlens inspect --interpret``: run a kernel on the CPU, and print how far it is off."""

from typing import TYPE_CHECKING

from irlens.cli import Exit, output
from irlens.cli.options import refuse
from irlens.model.text import printable

if TYPE_CHECKING:  # running the command loads it
    from irlens.cli.writing import Writing
    from irlens.compiler.interpreting import Interpretation
    from irlens.session import Configurations

_HINT = (
    "put breakpoint() or print(x) into the kernel and run this again;\n"
    "            programs run one after the other, and tensors are NumPy arrays (x.handle.data)"
)


def show(kernel: str, selection: "Configurations", writing: "Writing") -> Exit:
    """Interpret a kernel in every configuration of the command line, and print the results.

    Raises:
        IrlensError: The kernel cannot be interpreted.
    """
    unusable = {
        "--target": bool(selection.targets),
        "--triton": bool(selection.tritons),
        "--run": bool(selection.run),
        f"--format {writing.form}": writing.form != "text",
        "--summary": writing.summary,
    }
    refuse(unusable, "has no effect with --interpret: remove one of them")
    from irlens.compiler.interpreting import interpret
    from irlens.compiler.request import Request
    from irlens.model.config import Target

    texts, outcome = [], Exit.OK
    for _, settings, args in selection.combinations():
        # The target has no effect on what the interpreter does.
        request = Request(
            kernel=kernel,
            target=Target(vendor="nvidia", arch="sm_90", warp_size=32),
            settings=settings,
            args=args,
            grid=selection.grid,
        )
        done = interpret(request)
        texts.append(describe(done))
        if done.matches is False:
            outcome = Exit.DIFFERENCE
    output.write("\n".join([*texts, f"Debug       {_HINT}\n"]), writing.destination, paged=False)
    return outcome


def describe(done: "Interpretation") -> str:
    """Return the result as lines of text."""
    sizes = ", ".join(f"{name}={value}" for name, value in done.sizes.items())
    programs = " × ".join(f"{extent:,}" for extent in done.grid)
    lines = [
        f"{done.kernel}, interpreted on the CPU by Triton, without a GPU",
        f"Sizes       {sizes}",
        f"Grid        {programs} programs",
        f"Result      {_result(done)}",
        f"Traffic     {_traffic(done)}",
    ]
    return printable("\n".join(lines)) + "\n"


def _result(done: "Interpretation") -> str:
    if done.matches is None:
        return "no reference to compare with: add one to the kernel's description"
    error = "not finite" if done.max_abs_error is None else f"{done.max_abs_error:.3g}"
    verdict = "matches" if done.matches else "DIFFERS from"
    return (
        f"{', '.join(done.outputs)} {verdict} {done.reference}: maximum error {error} "
        f"(tolerance: rtol {done.rtol:g}, atol {done.atol:g})"
    )


def _traffic(done: "Interpretation") -> str:
    moved = f"{done.read:,} B loaded, {done.written:,} B stored"
    if done.formula is None:
        return moved
    if done.formula == (done.read, done.written):
        return f"{moved}, as the description's formulas say"
    read, written = done.formula
    return f"{moved}; the description's formulas say {read:,} B and {written:,} B"
