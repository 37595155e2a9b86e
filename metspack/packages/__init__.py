"""Reading a finished package: its files, its METS documents and its LOBs."""
