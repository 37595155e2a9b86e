"""The SIARD format: metadata.xml, tables, entries, forms, and edits that keep other bytes."""
