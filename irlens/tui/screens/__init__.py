"""Screens, one module each, loaded when they are first shown."""
