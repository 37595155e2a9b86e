"""Restore LOBs from a package's METS and parts: as files, as ranges, in an archive; and prove them."""
