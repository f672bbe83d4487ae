"""LLVM IR: its instructions, and what calls in it stand for."""
