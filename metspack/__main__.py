"""The command ``metspack``, run as ``python -m metspack``."""

from metspack.cli import main

if __name__ == "__main__":
    main()
