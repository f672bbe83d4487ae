"""The content of a code pane, apart from the widget: text, highlighting, gutters, links.

A stage may have a hundred thousand lines. Work for a whole stage takes a few passes that do not
walk it character by character in Python; the rest is done for a line when it comes into view.
"""
