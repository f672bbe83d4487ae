"""Records a whole program: a capture of every Triton kernel that it compiles."""

from irlens.programs.job import Options, Program
from irlens.programs.record import Recording, record

__all__ = ["Options", "Program", "Recording", "record"]
