"""Artifacts on disk: Triton cache entries, captures, GPU binaries, and the vendor's tools."""
