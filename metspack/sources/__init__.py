"""Sources of LOBs: a SIARD archive, or a folder of LOBs."""
