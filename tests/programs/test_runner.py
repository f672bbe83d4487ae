"""The process that runs a recorded program."""

import sys
from pathlib import Path

import pytest

from irlens.programs import runner
from irlens.programs.job import Job, Program


@pytest.mark.parametrize(
    ("module", "is_users"), [("train", True), ("irlens.programs.reference_program", False)]
)
def test_only_programs_of_the_user_import_from_the_working_directory(
    module: str, is_users: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setenv("PYTHONPATH", "")
    runner._restore_environment(
        Job(
            program=Program(name=module, is_module=True),
            folder="", target=None, memory=None, gpu_name="", pythonpath=None,
        )
    )  # fmt: skip
    assert (str(tmp_path) in sys.path) == is_users
