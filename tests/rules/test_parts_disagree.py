"""IRL601: one finding for each part that was put aside; ``tests/report`` holds which are."""

from irlens.analyze.facts import Facts
from irlens.model.config import Config
from irlens.model.resources import Resources
from irlens.rules import parts_disagree

CONFIG = Config(
    num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, constexprs={}, args={}, options=None
)
RESOURCES = Resources(
    registers=None,
    shared_dynamic_bytes=None,
    shared_static_bytes=None,
    local_bytes=None,
    stack_bytes=None,
)


def facts(*contradictions: str) -> Facts:
    return Facts(gpu=None, config=CONFIG, resources=RESOURCES, contradictions=contradictions)


def test_shows_each_contradiction_as_an_error() -> None:
    messages = [match.message for match in parts_disagree.find(facts("one", "two"))]
    assert messages == ["one", "two"]
    assert parts_disagree.SEVERITY == "error"


def test_silent_where_the_parts_agree() -> None:
    assert not list(parts_disagree.find(facts()))
