"""Restore and prove LOBs from METS and parts: as files, as ranges, or in an archive."""
