"""Records a whole program: a capture of every Triton kernel that it compiles."""

from irlens.record.job import Options, Program
from irlens.record.record import Recording, record

__all__ = ["Options", "Program", "Recording", "record"]
