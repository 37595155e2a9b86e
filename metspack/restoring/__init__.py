"""Giving LOBs back: from a package's METS documents and parts to whole LOBs, ranges and proofs."""
