"""Running a whole program, and keeping every Triton kernel that it compiles."""

from irlens.record.record import Program, Recording, record

__all__ = ["Program", "Recording", "record"]
