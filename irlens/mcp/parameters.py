"""What agents pass to several tools, and the axes of a selection that it stands for."""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from irlens.session.values import split_values

#: One value, or several to ask for each.
Value: TypeAlias = str | int | float | bool
Values: TypeAlias = dict[str, Value | list[Value]]
#: Formats that hold a list of rows or a page for people.
Format: TypeAlias = Literal["markdown", "text", "json", "csv"]
Document: TypeAlias = Literal["markdown", "text", "json"]
#: Formats of a row for each report, however many there are.
ROWS: frozenset[Format] = frozenset({"csv"})

Kernel = Annotated[
    str,
    Meta(
        description="A sample's name (softmax), path/file.py:kernel, package.module:kernel, a "
        "capture or Triton cache directory, an artifact (x.ptx, x.cubin), or a saved report"
    ),
]
Targets = Annotated[
    list[str] | str | None,
    Meta(description='GPUs to compile for: ["h100"], ["sm_90", "gfx942"]; see `targets`'),
]
Settings = Annotated[
    Values | None,
    Meta(
        description='Constexprs and compile options: {"num_stages": [2, 4], "BLOCK_SIZE": 1024}; '
        'a list, "2,4", or a range as "1..5" and "16..256..x2", asks for each of its values'
    ),
]
Args = Annotated[
    Values | None,
    Meta(description='Arguments and sizes: {"n_cols": 781, "x_ptr": "fp16[1024, 1024]"}'),
]
Grid = Annotated[
    list[int | str] | None,
    Meta(description='CTAs in x, y and z: [4096], ["cdiv(n, BLOCK)", 8]'),
]
StageName = Annotated[
    str, Meta(description="source, ttir, ttgir, llir, ptx, sass, amdgcn or metadata")
]
Sass = Annotated[
    bool | None,
    Meta(description="Disassemble the machine code, too; by default that of few captures"),
]
ReportFormat = Annotated[
    Format, Meta(description="json: whole records; csv: a row for each capture of a directory")
]
FormatName = Annotated[Document, Meta(description="How the answer is written")]
Where = Annotated[
    list[str] | None,
    Meta(description='Compile only matching configurations: ["BLOCK_M * BLOCK_K <= 16384"]'),
]
Filters = Annotated[
    list[str] | None, Meta(description='Show only matching results: ["occupancy >= 0.25"]')
]


def axes(values: Values | None) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return each name with its values as they are written on a command line, ranges spread."""
    return tuple(
        (name, tuple(text for each in listed for text in _spread(each)))
        for name, held in (values or {}).items()
        for listed in (held if isinstance(held, list) else [held],)
    )


def ranges(values: Values | None) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return each name with its values as text, ranges as they are written."""
    return tuple(
        (name, tuple(map(str, held if isinstance(held, list) else [held])))
        for name, held in (values or {}).items()
    )


def _spread(value: Value) -> tuple[str, ...]:
    """Return a value as text; a range, or values as the command line takes them, as each."""
    return split_values(value) if isinstance(value, str) and value else (str(value),)
