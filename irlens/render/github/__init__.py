"""Workflow commands of GitHub Actions: lines on stdout that become annotations of code.

Source: GitHub Docs, "Workflow commands for GitHub Actions"; ``ActionCommand.cs`` of the runner.
"""

#: Not ".txt", which is the text format's.
EXTENSION = "annotations"
