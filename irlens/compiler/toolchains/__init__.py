"""Which Triton compiles: the installed one, another interpreter's, or one that irlens installs."""
