"""Where each figure of a report comes from, and why others are missing."""


class Ledger:
    """Collects origins and reasons while a report is being made.

    Attributes:
        sources: Origin by the figure's dotted path in the report.
        unknown: Why a figure is missing, by its dotted path.
    """

    def __init__(self) -> None:
        self.sources: dict[str, str] = {}
        self.unknown: dict[str, str] = {}

    def known(self, origin: str, *paths: str) -> None:
        """Note where figures were read."""
        self.sources.update(dict.fromkeys(paths, origin))

    def missing(self, reason: str, *paths: str) -> None:
        """Note why figures are missing; the first reason stands."""
        for path in paths:
            self.unknown.setdefault(path, reason)
