"""Software pipelining of loops: one module for each mechanism that keeps copies in flight."""
