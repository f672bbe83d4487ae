"""What moved between two compilations: in the figures of their reports, and in their code."""
