"""Text for people, in a terminal."""

EXTENSION = "txt"
