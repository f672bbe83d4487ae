"""What answers the TUI: captures and reports behind one interface, ``irlens.tui.workbench``.

It stands between the interface, which sees finished records only, and everything that makes them.
"""
