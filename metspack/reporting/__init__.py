"""Reports of checks and inspections as text, HTML, JSON, JUnit and SARIF."""
