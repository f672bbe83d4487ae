"""The code of a capture that is one text."""

from functools import cached_property

from irlens.analyze.capture_code import CaptureCode, MetadataCode, SassCode
from irlens.model.capture import Capture, Stage
from irlens.model.config import Config

_CONFIG = Config(num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, constexprs={}, args={})


def code_of_text(stage: str, text: str, kernel: str = "kernel") -> CaptureCode:
    """Return a capture's code that has one stage, of this text."""
    stages = {stage: Stage(stage, content=text.encode())}
    code = CaptureCode(Capture(kernel=kernel, target=None, config=_CONFIG, stages=stages))
    if stage == "sass":
        code._codes[stage] = SassCode(code, text)
    elif stage == "metadata":
        code._codes[stage] = _Metadata(code, stage)
    return code


class _Metadata(MetadataCode):
    @cached_property
    def text(self) -> str:
        return self._whole.capture.stages[self.name].text()
