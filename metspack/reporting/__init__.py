"""Reports of checks and inspections as text, HTML, JSON, CSV and JUnit."""
