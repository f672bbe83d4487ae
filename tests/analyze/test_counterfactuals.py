"""What is changed to test an explanation: the cause that a finding names, and nothing else."""

import pytest

from irlens.analyze.counterfactuals import Symptom, changes_for
from irlens.isa.mlir import parse
from irlens.model.config import Config
from irlens.model.report import Finding

TTIR = """module {
  tt.func public @k(%a: i32, %time: i32, %n_cols: i32, %x: !tt.ptr<f32>) {
    tt.return
  }
}
"""


@pytest.mark.parametrize(
    ("blamed", "words"),
    [
        ("n_cols=781 (mask) is not known to be a multiple", "n_cols known to be a multiple of 16"),
        ("a (address) is not known to be a multiple", "a known to be a multiple of 16"),
        (
            "time=-3 (address) and n_cols (mask) are not known to be multiples",
            "time and n_cols known to be multiples of 16",
        ),
    ],
)
def test_words_of_the_sentence_are_no_arguments(blamed: str, words: str) -> None:
    """Arguments may be called a, at or time, as the sentence of the finding has it."""
    message = f"the load at k.py:3 moves 4 B per thread at a time and could move 16: {blamed} of 16"
    finding = Finding(
        code="IRL301",
        severity="warning",
        message=message,
        hint="",
        stage=None,
        line=None,
        source=None,
    )
    config = Config(num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, constexprs={}, args={})
    (change,) = changes_for(Symptom(finding, parse(TTIR, stage="ttir"), config))
    assert change.words == words
    assert change.ttir.count("tt.divisibility = 16") == words.count(" and ") + 1
