"""Links between parent and child METS."""
