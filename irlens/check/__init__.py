"""What gates a change: a baseline's figures and a project's budgets, held against reports.

Only exact figures decide. ``check`` is the whole of it; ``baseline`` reads and writes the file
that is checked in, ``project`` reads what ``pyproject.toml`` asks for.
"""
