"""SARIF 2.1.0: what code hosts and editors read static analysis from.

Source: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

EXTENSION = "sarif"
