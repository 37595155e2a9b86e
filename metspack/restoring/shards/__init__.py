"""LOBs as shards: stretches of files, written and read."""
