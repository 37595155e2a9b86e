"""Adding a further archive, with segments of its own, to an existing package."""
