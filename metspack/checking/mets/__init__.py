"""METS documents: well-formed, valid by their schema, and true to themselves."""
