"""The terminal user interface: the only package that imports Textual.

It asks a ``irlens.session.interactive.Workbench``, draws records and the nodes of
``irlens.render.view``, and computes no figures itself.
"""
