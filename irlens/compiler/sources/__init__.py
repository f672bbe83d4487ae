"""Kernel source files: look them up, read their descriptions, execute them, watch them."""
