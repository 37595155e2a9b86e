"""Sources of LOBs: a SIARD archive, a folder of LOBs, or a list of files."""
