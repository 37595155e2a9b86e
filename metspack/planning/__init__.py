"""Division of LOBs into segments, and the plan as a file."""
