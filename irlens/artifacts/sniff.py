"""What a file is, from its content: which stage, which kernel, for which GPU."""

from irlens.artifacts import elf


def cubin_arch(file: elf.Elf) -> str | None:
    """Return the architecture that a cubin was assembled for ("sm_90").

    The place of the number moved with the ABI: up to CUDA 12.8 it is the low byte of ``e_flags``
    (``EI_OSABI`` 0x33), and the second byte in what newer assemblers write (0x41), which 12.8
    itself does from sm_100 on.

    Returns:
        ``None`` where the ABI is neither of them.
    """
    match file.os_abi:
        case 0x33:
            return f"sm_{file.flags & 0xFF}"
        case 0x41:
            return f"sm_{file.flags >> 8 & 0xFF}"
    return None
