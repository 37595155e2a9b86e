"""Build packages: segments placed and described, the archive rewritten, all published at once."""
