"""The operators of PyTorch that a program runs, recorded with what they read and write."""
