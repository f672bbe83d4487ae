"""The presentation tree: what every format and the TUI show of a record, decided once.

A module here turns one kind of record into nodes (``nodes``): every string, figure, title, order
and verdict, and what is folded or left to a detail option. Writers and the TUI lay nodes out and
add nothing of their own.
"""
