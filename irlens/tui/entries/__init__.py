"""The browser's entries: cells, rows, column layout, the table and the summary."""
