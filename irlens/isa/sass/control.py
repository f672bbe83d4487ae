"""The control fields of machine instructions: the schedule that ptxas writes into each.

Since Volta an instruction has 128 bits, and the highest of them say when the warp's next
instruction may issue and what this one waits for:

| bits | field |
|---|---|
| 105 to 108 | stall: cycles until the warp's next instruction may issue |
| 109 | yield, inverted: 0 prefers another warp next, and the operands kept for reuse are lost |
| 110 to 112 | the scoreboard that the result sets when it is written, 7 for none |
| 113 to 115 | the scoreboard that is set when the operands have been read, 7 for none |
| 116 to 121 | the scoreboards that must be clear before the instruction issues, one bit each |
| 122 to 125 | the source operands that are kept for the next instruction, one bit each |

Source: Jia, Maggioni, Staiger, Scarpazza, "Dissecting the NVIDIA Volta GPU Architecture via
Microbenchmarking" (2018), section 2.1; nvdisasm 12.8 prints the same fields for sm_120, and the
reuse flags for every architecture.
"""

from irlens.model.schedule import SCOREBOARDS, Control

#: Bytes of an instruction since Volta.
INSTRUCTION_BYTES = 16
_SLOTS = 4
_NONE = 7
#: The first bit of the control fields.
_FIRST = 105


def decode(word: int) -> Control:
    """Return the control fields of one instruction."""
    fields = word >> _FIRST
    write, read = fields >> 5 & 7, fields >> 8 & 7
    return Control(
        stall=fields & 0xF,
        write=None if write == _NONE else write,
        read=None if read == _NONE else read,
        wait=fields >> 11 & (1 << SCOREBOARDS) - 1,
        yields=not fields >> 4 & 1,
        reuse=fields >> 17 & (1 << _SLOTS) - 1,
    )


def decode_all(code: bytes) -> tuple[Control, ...]:
    """Return the control fields of each instruction of a code section.

    Args:
        code: The section's bytes: those of instructions of 16 bytes, as Volta and newer have.
    """
    size = INSTRUCTION_BYTES
    whole = len(code) - len(code) % size
    return tuple(
        decode(int.from_bytes(code[at : at + size], "little")) for at in range(0, whole, size)
    )
