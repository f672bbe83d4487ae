"""Whether two captures have the same machine code."""

import hashlib
import struct

from irlens.artifacts import elf
from irlens.model.capture import Capture

#: Sections that name things, say where the code comes from, or which run of the assembler it was.
_NAMES = frozenset(
    {".symtab", ".strtab", ".shstrtab", ".dynsym", ".dynstr", ".hash", ".gnu.hash", ".comment"}
)
_DEBUG = (".debug", ".nv_debug", ".rel.debug", ".rela.debug", ".rel.nv_debug", ".line")


def code_digest(capture: Capture) -> str | None:
    """Return a digest of a capture's machine code; ``None`` where it has none.

    Two captures have equal digests if their binaries are equal byte for byte, but for names and
    debug information: instructions, constants, the kernel's parameters, registers and memory.

    Raises:
        ArtifactError: The binary is broken or gone.
    """
    stage = capture.stages.get("cubin") or capture.stages.get("hsaco")
    if stage is None:
        return None
    file = elf.read(stage.read())
    digest = hashlib.sha256(struct.pack("<II", file.machine, file.flags))
    for section in file.sections:
        if section.name in _NAMES or section.name.startswith(_DEBUG):
            continue
        content = file.content(section)
        name = _without_kernel(section.name, capture.kernel).encode()
        digest.update(struct.pack("<IIQ", section.type, len(name), section.size))
        digest.update(name + content)
    return digest.hexdigest()


def _without_kernel(section: str, kernel: str) -> str:
    """Return a section's name without the kernel's: ".text." of ".text.add_kernel"."""
    return section.removesuffix(kernel)
