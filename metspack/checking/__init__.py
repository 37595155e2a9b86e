"""Checking packages from what is on disk; shares nothing with the builder."""
