"""Sweeps: a grid of configurations, compiled and inspected by worker processes or a cluster.

Tasks and their answers are bytes, so that a worker may be a process of this machine or of another
one that shares no files with it.
"""
