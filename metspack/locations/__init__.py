"""Locations of LOBs, inside an archive and outside: from lobFolder and file to the bytes."""
