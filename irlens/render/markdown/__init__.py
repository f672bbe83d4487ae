"""Markdown for a comment on a pull request: the verdict, a table, and the rest folded away."""

EXTENSION = "md"

#: Columns of the text that is folded away: comments are narrow, and scroll sideways.
FOLDED_WIDTH = 100
