"""The calibrations that ``IRLENS_GPUS`` names: files that ``irlens calibrate`` wrote."""

import hashlib
import os
from functools import lru_cache
from pathlib import Path

import msgspec

from irlens.model import files
from irlens.model.calibration import Calibration
from irlens.model.errors import IrlensError

#: The environment variable that lists the files, separated as those of PATH are.
VARIABLE = "IRLENS_GPUS"


def paths() -> list[Path]:
    """Return the files that the variable names."""
    return [Path(each) for each in os.environ.get(VARIABLE, "").split(os.pathsep) if each]


def read(path: Path) -> Calibration:
    """Return the calibration in a file.

    Raises:
        IrlensError: The file cannot be read, or holds no valid calibration.
    """
    hint = f"correct {VARIABLE}, or write the file with: irlens calibrate -o FILE"
    content = files.read(path, hint=hint)
    try:
        return msgspec.json.decode(content, type=Calibration)
    except files.DECODE_ERRORS as error:
        raise IrlensError(f"{path} is not a calibration: {error}", hint=hint) from error


def by_gpu() -> dict[str, tuple[Path, Calibration]]:
    """Return the calibrations that apply, each with its file, by the name of the GPU.

    Raises:
        IrlensError: A file is not a valid calibration, or two are of one GPU.
    """
    found: dict[str, tuple[Path, Calibration]] = {}
    for path in paths():
        calibration = _read_once(path, files.state(path))
        other, _ = found.setdefault(calibration.gpu, (path, calibration))
        if other != path:
            raise IrlensError(
                f"{VARIABLE}: {other} and {path} both calibrate {calibration.gpu}",
                hint="name only one of them",
            )
    return found


def digest() -> bytes:
    """Return a digest of what the calibrations say; empty where there are none.

    Raises:
        IrlensError: See ``by_gpu``.
    """
    if not paths():
        return b""
    found = sorted((name, calibration) for name, (_, calibration) in by_gpu().items())
    return hashlib.sha256(msgspec.json.encode([calibration for _, calibration in found])).digest()


@lru_cache(maxsize=16)
def _read_once(path: Path, _state: files.State | None) -> Calibration:
    """Return the calibration in a file of this state."""
    return read(path)
