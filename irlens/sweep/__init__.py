"""A grid of configurations: compiled by worker processes or a cluster, and looked at.

What a worker is given and what it answers are bytes, so that it may be a process of this machine
or of another one that shares no file with it.
"""
