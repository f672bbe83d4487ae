"""How a kernel is called: its argument values, how they are written, and how they are bound."""
