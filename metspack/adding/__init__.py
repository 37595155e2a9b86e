"""Adding a further archive, with segments of its own, to a package that is there."""
