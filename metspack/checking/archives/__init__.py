"""SIARD archives in a package: their form, their cells, and the LOBs that the cells name."""
