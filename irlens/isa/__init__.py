"""Readers: one file a stage. What a reader does not know it keeps as unknown."""
