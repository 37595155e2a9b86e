"""Reports of checks and inspections as text, HTML, JSON and JUnit."""
