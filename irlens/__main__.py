"""``python -m irlens``."""

from irlens.cli import main

if __name__ == "__main__":
    main()
