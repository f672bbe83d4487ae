"""What a code pane shows, apart from the widget itself: text, colours, gutters, links.

A stage may have a hundred thousand lines. What is made here for a whole stage is made in a few
passes that the interpreter does not walk character by character; the rest is made for a line when
that line is looked at.
"""
