"""Finished packages: their files, METS documents and LOBs, read and never written."""
