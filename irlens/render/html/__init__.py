"""HTML: one file that needs nothing else, to read in any browser, on paper, or without scripts."""

EXTENSION = "html"
