"""Compatibility layer over Triton's internals, written against Triton 3.2 to 3.9.

Kernels go through Triton's own just-in-time path (``JITFunction.run``), so specialisation,
constexpr handling and cache entries are Triton's. Only the driver underneath is replaced by one
that needs no GPU. Every other module here imports Triton.
"""
