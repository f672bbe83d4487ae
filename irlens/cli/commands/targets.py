"""``irlens targets``: the GPUs irlens knows, with their limits."""

from typing import TYPE_CHECKING

import click

from irlens.cli import Exit, output
from irlens.cli.formats import ListFormat, list_format_option
from irlens.cli.output import write_json

if TYPE_CHECKING:
    from irlens.gpus import Gpu

_HEADER = (
    "target", "arch", "family", "SMs", "warps/SM", "blocks/SM",
    "regs/SM", "regs/thread", "shared/SM", "shared/CTA", "GB/s",
)  # fmt: skip
_NUMBERS = set(range(3, len(_HEADER)))


@click.command()
@list_format_option("Select the output format; json has every limit, with its source.")
def command(form: ListFormat) -> Exit:
    """List the GPUs that --target accepts, with their limits.

    Architectures come first, then products. For AMD, "SM" is a compute unit or work-group
    processor, "block" a workgroup and "warp" a wave; sizes are in bytes. A dash is a figure that
    the architecture does not fix, a limit that does not exist, or one that no public source states.
    """
    from irlens import gpus

    if form == "json":
        write_json(gpus.gpus(), order="sorted")
        return Exit.OK
    rows = [_row(gpu) for gpu in gpus.gpus()]
    output.write(output.table(_HEADER, rows, right=_NUMBERS), None, paged=True)
    return Exit.OK


def _row(gpu: "Gpu") -> tuple[str, ...]:
    arch, product = gpu.arch, gpu.product
    bandwidth = product.bandwidth if product else None
    return (
        gpu.name,
        arch.name,
        arch.family,
        _or_dash(gpu.sm_count),
        _or_dash(arch.warps_per_sm),
        _or_dash(arch.blocks_per_sm),
        _or_dash(arch.registers_per_sm),
        _or_dash(arch.registers_per_thread),
        _or_dash(arch.shared_per_sm),
        _or_dash(arch.shared_per_block_optin),
        _or_dash(None if bandwidth is None else round(bandwidth / 1e9)),
    )


def _or_dash(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
