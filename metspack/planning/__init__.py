"""Division of LOBs into segments, and plan files."""
