"""The time of a launch: what its machine code asks of each unit, and how long that takes."""
