"""metspack: parent and child packages for SIARD archives with large objects."""
