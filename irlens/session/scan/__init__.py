"""Scans: a row of figures for each capture in one or several directories, of any number."""
