"""Check METS documents: well-formed, valid by their schema, consistent in themselves."""
