"""Write and read LOBs as shards, which are stretches of files."""
