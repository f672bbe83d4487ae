"""Resources that AMD's assembly states itself, where there is no code object.

LLVM writes the metadata note as YAML between ``.amdgpu_metadata`` and ``.end_amdgpu_metadata``, and
the kernel descriptor as ``.amdhsa_`` directives (User Guide for AMDGPU Backend, "Assembler
Directives").
"""

import re

import msgspec

from irlens.artifacts import hsaco
from irlens.artifacts.hsaco import Kernel, KernelNote
from irlens.model import files

_METADATA = re.compile(
    r"^[ \t]*\.amdgpu_metadata\b(.*?)^[ \t]*\.end_amdgpu_metadata\b", re.DOTALL | re.MULTILINE
)
#: A kernel is an item of the list, two columns in; its fields are two columns further.
_ITEM = re.compile(r"^  - ", re.MULTILINE)
_FIELD = re.compile(r"^    (\.\w+):[ \t]*([^\n]*)$", re.MULTILINE)
_DESCRIPTOR = re.compile(
    r"^[ \t]*\.amdhsa_kernel[ \t]+(\S+)(.*?)^[ \t]*\.end_amdhsa_kernel\b", re.DOTALL | re.MULTILINE
)
_FUNCTION = re.compile(r"^[ \t]*\.type[ \t]+(\S+),@function\b", re.MULTILINE)
_ACCUMULATION = re.compile(r"^[ \t]*\.amdhsa_accum_offset[ \t]+(\d{1,4})\b", re.MULTILINE)


def read(text: str) -> list[Kernel]:
    """Return the kernels that the metadata of an assembly text describes, in its order.

    A kernel whose metadata lacks a field is left out.
    """
    found = _METADATA.search(text)
    if found is None:
        return []
    offsets = {name: _offset(directives) for name, directives in _DESCRIPTOR.findall(text)}
    _, *items = _ITEM.split(found[1])
    notes = filter(None, map(_note, items))
    calls = any(name not in offsets for name in _FUNCTION.findall(text))
    return [
        hsaco.of_note(note, accumulation_offset=offsets.get(note.name), calls=calls)
        for note in notes
    ]


def _offset(directives: str) -> int:
    """Return where AGPRs begin: an absent directive is a field of zero bits, which stands for 4."""
    offset = _ACCUMULATION.search(directives)
    return int(offset[1]) if offset else 4


def _note(item: str) -> KernelNote | None:
    # The list of arguments is indented deeper; the first field stands beside the hyphen.
    fields = dict(_FIELD.findall(f"    {item}"))
    given = {name: value.strip().strip("'\"") for name, value in fields.items() if value.strip()}
    try:
        return msgspec.convert(given, KernelNote, strict=False)
    except files.DECODE_ERRORS:
        return None
