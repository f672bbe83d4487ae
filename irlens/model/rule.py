"""What a kind of finding means, as a record."""

import msgspec

from irlens.model.report import Severity


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of finding.

    Attributes:
        code: "IRL201".
        name: "pipeline-shallower".
        severity: Of its findings.
        summary: What is found, in one sentence.
        documentation: All of it, in Markdown.
    """

    code: str
    name: str
    severity: Severity
    summary: str
    documentation: str
