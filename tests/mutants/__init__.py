"""Packages with one change each and all digests put right: what check does not tell, commands must bear."""
