"""Widgets, one module each."""
