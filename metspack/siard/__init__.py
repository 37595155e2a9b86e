"""Reading SIARD archives: the zip container, metadata.xml, the tables; and rewriting them."""
