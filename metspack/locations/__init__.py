"""Places of LOBs outside and inside an archive, as cells, folders and mappings say them."""
