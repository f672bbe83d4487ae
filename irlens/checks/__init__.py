"""Findings: one file each, with its code, its documentation and its logic."""
