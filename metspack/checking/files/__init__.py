"""Check a package's files: listed, present, and with the stated sizes and digests."""
