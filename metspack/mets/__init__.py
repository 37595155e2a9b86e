"""METS documents: writing them through templates, reading any of them as facts."""
