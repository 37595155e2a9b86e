"""Inspect the contents of a source: its tables, its LOBs, and files that no cell names."""
