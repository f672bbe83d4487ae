"""Formats: one file each, a finished record in, text out."""
