"""irlens: see what the compiler made of a Triton kernel."""

__version__ = "0.1.0"
