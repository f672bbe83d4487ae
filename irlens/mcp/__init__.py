"""The server of the Model Context Protocol: irlens's answers for coding agents.

The only importer of the ``mcp`` package. Tools ask ``session`` and answer with what ``render``
writes, so that an agent reads what a person reads.
"""
