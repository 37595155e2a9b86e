"""Where a LOB lies in a package, and back: one module per layout; pure."""
