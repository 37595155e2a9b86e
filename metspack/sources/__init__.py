"""LOBs that lie in files without a SIARD archive: a LOB folder, or a list of files."""
