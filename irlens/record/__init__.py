"""Records a whole program: a capture of every Triton kernel that it compiles."""

from irlens.record.job import Options
from irlens.record.record import Program, Recording, record

__all__ = ["Options", "Program", "Recording", "record"]
