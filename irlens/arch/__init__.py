"""GPUs: one self-checking row each, with the source of every number."""
