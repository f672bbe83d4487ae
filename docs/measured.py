"""Write the page of what the samples reach on an H200, and its plots, from the measured sweeps.

python docs/measured.py
"""

import textwrap
from collections.abc import Iterator
from pathlib import Path

import msgspec

from irlens.model.capture import Timing
from irlens.model.sweep import Sweep, Trial
from irlens.model.text import percent
from irlens.render.svg import standalone
from irlens.render.view.nodes import Plot
from irlens.render.view.sizes import size_plot

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SAMPLES = ROOT / "samples"
#: Times that differ by less are level.
_LEVEL = 0.03

#: Samples whose PyTorch reference does other work than they do, and what it does. Its results
#: are those of the sample; its time says nothing about the sample's.
OTHER_WORK = {
    "attention_merge": "several operations",
    "dropout": "Philox in many operations",
    "exp_sin": "four operations a step",
    "gelu": "three operations",
    "layer_norm_backward": "several operations",
    "matmul_batched": "in fp32",
    "matmul_bias_relu": "in fp32",
    "matmul_fp32_output": "in fp32",
    "matmul_persistent": "in fp32",
    "matmul_tiled": "in fp32",
    "rms_norm": "several operations",
}


def samples() -> list[Sweep]:
    """Return every sample at the sizes of its description, as measured."""
    return msgspec.json.decode((SAMPLES / "measured" / "h200.json").read_bytes(), type=list[Sweep])


def sweep(name: str) -> Sweep:
    """Return a measured sweep over sizes."""
    content = (SAMPLES / "sweeps" / f"{name}-h200.json").read_bytes()
    return msgspec.json.decode(content, type=Sweep)


def fastest(trials: list[Trial]) -> Trial:
    """Return the trial with the least time."""
    return min(trials, key=lambda each: timing(each).median_ms)


def timing(trial: Trial) -> Timing:
    """Return the time of a trial that has one."""
    assert trial.timing is not None, trial.label
    return trial.timing


def microseconds(trial: Trial, name: str | None = None) -> float:
    """Return the median time of a trial, or of the other implementation of that name."""
    if name is None:
        return 1e3 * timing(trial).median_ms
    found = next(each.timing for each in trial.against if each.name == name)
    assert found is not None, (trial.label, name)
    return 1e3 * found.median_ms


def floor(trial: Trial) -> float | None:
    """Return the roofline's floor of a trial in microseconds; ``None`` if unknown."""
    return (trial.figures or {}).get("floor_us")


def compared(ours: float, theirs: float) -> str:
    """Return how a time compares with PyTorch's, in words."""
    if max(ours, theirs) / min(ours, theirs) < 1 + _LEVEL:
        return "level"
    if ours < theirs:
        return f"{theirs / ours:.2f} × as fast"
    return f"**{ours / theirs:.2f} × the time**"


def table() -> Iterator[str]:
    """Yield the rows of the table of all samples."""
    yield "| sample | µs | floor, µs | floor ÷ time | reaches | PyTorch, µs | against PyTorch |"
    yield "|---|---:|---:|---:|---:|---:|---|"
    for each in samples():
        trial = fastest(each.trials)
        time, least = microseconds(trial), floor(trial)
        cells = [
            f"`{each.kernel}`",
            f"{time:,.1f}",
            "–" if least is None else f"{least:,.1f}",
            "–" if least is None else percent(least / time),
            _reached(trial),
        ]
        (eager,) = trial.against
        if eager.timing is None:
            cells += ["–", eager.reason]
        else:
            theirs = microseconds(trial, eager.name)
            words = OTHER_WORK.get(each.kernel) or compared(time, theirs)
            cells += [f"{theirs:,.1f}", words]
        yield f"| {' | '.join(cells)} |"


def _reached(trial: Trial) -> str:
    """Return the rate of what binds the floor: operations or bytes per second."""
    figures, rate = trial.figures or {}, trial.rate
    if rate is None or rate.gb_per_s is None:
        return "–"
    if (figures.get("compute_us") or 0) > (figures.get("memory_us") or 0):
        return f"{rate.tflop_per_s:,.0f} TFLOP/s"
    return f"{rate.gb_per_s:,.0f} GB/s"


def at(found: Sweep, size: int) -> Trial:
    """Return the fastest trial of a size."""
    assert found.axis is not None
    return fastest([each for each in found.trials if each.value(found.axis) == size])


def page() -> str:
    """Return the page."""
    softmax, matmul, add = sweep("softmax"), sweep("matmul"), sweep("vector_add")
    whole, causal = sweep("attention"), sweep("attention_causal")
    of = {each.kernel: fastest(each.trials) for each in samples()}
    return "\n".join(
        [
            HEAD,
            *table(),
            "",
            _slower(of),
            "## Softmax: 4,096 rows, fp32",
            "",
            _picture("softmax", softmax),
            _softmax(softmax),
            "## Matrix product, fp16",
            "",
            _picture("matmul", matmul),
            _matmul(matmul),
            "## Addition of two vectors, fp32",
            "",
            _picture("vector_add", add),
            _vector_add(add),
            "## Attention, fp16",
            "",
            _picture("attention", whole),
            _picture("attention_causal", causal),
            _attention(whole, causal),
        ]
    )


def _picture(name: str, found: Sweep) -> str:
    return f"![{plot(found).described}](images/measured-{name}.svg)\n"


def plot(found: Sweep) -> Plot:
    """Return the plot that irlens draws of a sweep."""
    drawn = size_plot(found, found.trials)
    assert drawn is not None
    return drawn


HEAD = """---
hide: [toc]
---

# What the samples reach on an H200

Every sample kernel was launched on an H200 at the sizes of its description (Triton 3.6.0), and
its results were checked against its PyTorch reference before it was timed. Times are medians of
`triton.testing.do_bench` with a cold L2. The data are `samples/measured/h200.json` and the sweeps
`samples/sweeps/*-h200.*`; `python benchmarks/sizes.py FOLDER` takes them anew on a GPU, and
`python docs/measured.py` writes this page from them.

The **floor** is what `irlens inspect SAMPLE --target h200` says without a GPU: each byte once
through the DRAM, or the operations at the peak of their unit, whichever takes longer. The peaks are
those of the data sheet: nothing is faster than its floor. Launches of less than 20 µs are far from
theirs, since launching alone takes some 4 µs.

The time of **PyTorch** is that of the reference in eager mode. It is compared where the reference
is the one operation that the kernel implements, in the same data type; elsewhere the table says
what the reference does. Times within 3 % are level.
"""


def _slower(of: dict[str, Trial]) -> str:
    """Return what is slower than PyTorch, and why."""

    def both(name: str) -> str:
        ours, theirs = microseconds(of[name]), microseconds(of[name], "eager")
        return f"`{name}`: {ours:,.1f} µs against {theirs:,.1f} µs"

    cublas = microseconds(of["matmul"], "eager")
    behind = ", ".join(
        f"`{name}` {microseconds(of[name]):,.0f} µs"
        for name in ("matmul_bias_relu", "matmul_tiled", "matmul_persistent")
    )
    registers = (of["flash_attention"].figures or {})["registers"]
    items = (
        f"""{both("flash_attention")}. It holds {registers} registers per thread, so that an SM has
        2 CTAs of 4 warps, and its tensor core instructions (wgmma) are not pipelined: each product
        is awaited before the softmax that follows it. Faster kernels let one group of warps
        multiply while another takes its softmax.""",
        f"""{both("spill")}. It is written to spill.""",
        f"""{both("softmax_naive:exp_kernel")}.""",
        f"""Products whose references compute in fp32 take the operands of `matmul`, whose reference
        is cuBLAS's {cublas:,.0f} µs, and are slower than that: {behind}.""",
        """`softmax` of few columns, and `matmul` of most other sizes: see below.""",
    )
    notes = _paragraph(
        """The floor of `segment_sum` is unknown: how much it reads is in the offsets that it loads.
        That of `exp_sin` counts a sine as one operation, and a sine takes many instructions."""
    )
    listed = "".join(_paragraph(f"- {each}", indent="  ") for each in items)
    return f"{notes}\n## Slower than PyTorch\n\n{listed}"


def _softmax(found: Sweep) -> str:
    small, first, last = at(found, 256), at(found, 1280), at(found, 12544)
    above = [each for each in found.trials if (each.value("n_cols") or 0) > 1024]
    ratios = [
        min(microseconds(each, name) for name in ("eager", "compile")) / microseconds(each)
        for each in above
    ]
    naive = [microseconds(each, "naive") / microseconds(each) for each in above]
    return _paragraph(
        f"""With 256 columns it is slower than PyTorch: {microseconds(small):.1f} µs against
        {microseconds(small, "eager"):.1f} µs. At each measured size above 1,024 columns it is
        {min(ratios):.2f} to {max(ratios):.2f} times as fast as the faster of eager PyTorch and
        `torch.compile`, and {min(naive):.1f} to {max(naive):.1f} times as fast as the naive form,
        which takes several passes. The floor is {_share(first)} of the time with 1,280 columns and
        {_share(last)} with 12,544. It drops above 8,192 columns, where a row takes a block of
        16,384, of which up to half is masked."""
    )


def _matmul(found: Sweep) -> str:
    sizes = sorted({each.value("M") or 0 for each in found.trials})
    best = {size: at(found, size) for size in sizes}
    listed = ", ".join(
        f"{microseconds(each) / microseconds(each, 'eager'):.2f} at {size:,}"
        for size, each in best.items()
    )
    last = best[4096]
    rate = last.rate.tflop_per_s if last.rate is not None else None
    return _paragraph(
        f"""The fastest of the autotuner's five configurations, with M = N = K. Its time over
        cuBLAS's is {listed}. At 4,096 it takes {microseconds(last):.1f} µs, which is {rate:,.0f}
        TFLOP/s; the floor is {_share(last)} of that, and cuBLAS takes
        {microseconds(last, "eager"):.1f} µs. At 1,024 the fastest tile makes 128 CTAs for 132 SMs,
        and no configuration divides K among CTAs; at 3,072 the tile that wins at 4,096 makes 288,
        so that 24 are left for a third wave."""
    )


def _vector_add(found: Sweep) -> str:
    large = [each for each in found.trials if (each.value("n_elements") or 0) >= 1 << 22]
    apart = max(abs(microseconds(each) / microseconds(each, "eager") - 1) for each in large)
    last = at(found, 1 << 27)
    rate = last.rate.gb_per_s if last.rate is not None else None
    return _paragraph(
        f"""From 2^22 elements on it is within {100 * apart:.1f} % of PyTorch. With 2^27 it moves
        {rate:,.0f} GB/s, and the floor is {_share(last)} of the time. Below 2^18 elements a launch
        is most of the time, and which of them is ahead changes from size to size."""
    )


def _attention(whole: Sweep, causal: Sweep) -> str:
    def ratios(found: Sweep) -> str:
        of = [microseconds(each) / microseconds(each, "eager") for each in found.trials]
        return f"{min(of):.2f} to {max(of):.2f}"

    last, masked = at(whole, 8192), at(causal, 8192)
    floors = (floor(masked) or 0) / (floor(last) or 1)
    times = microseconds(masked) / microseconds(last)
    return _paragraph(
        f"""4 batches of 32 heads of 64; the second plot is with a causal mask. It is slower than
        `scaled_dot_product_attention` at each size: {ratios(whole)} times its time, and
        {ratios(causal)} times with a causal mask ({microseconds(masked):,.0f} µs against
        {microseconds(masked, "eager"):,.0f} µs at 8,192). There the causal floor is
        {percent(floors)} of the other and the time {percent(times)}: every tile of keys is masked,
        where only those on the diagonal need it."""
    )


def _paragraph(words: str, indent: str = "") -> str:
    """Return text in lines of the width of the pages."""
    lines = textwrap.wrap(
        " ".join(words.split()), 100, subsequent_indent=indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return "\n".join(lines) + "\n"


def _share(trial: Trial) -> str:
    least = floor(trial)
    assert least is not None
    return percent(least / microseconds(trial))


def files() -> dict[str, str]:
    """Return the page and its plots: their text by path in this folder."""
    names = ("softmax", "matmul", "vector_add", "attention", "attention_causal")
    plots = {f"images/measured-{name}.svg": standalone([plot(sweep(name))]) for name in names}
    return {"measured.md": page(), **plots}


def main() -> None:
    """Write everything."""
    for path, text in files().items():
        (DOCS / path).write_text(text)


if __name__ == "__main__":
    main()
