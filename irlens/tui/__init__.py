"""The terminal user interface: the only importer of Textual.

It is handed a ``Workbench``, shows the finished records that this answers with, and computes
nothing itself.
"""
