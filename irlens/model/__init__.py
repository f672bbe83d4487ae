"""Frozen records that every other layer shares, and the errors they raise."""
