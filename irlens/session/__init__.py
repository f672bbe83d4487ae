"""One path from a named kernel, capture or report to finished records.

The command line, the TUI, the MCP server and the library take it; ``workbench`` is the interface
that the TUI asks.
"""
