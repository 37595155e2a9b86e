"""The options of commands: their values, and the groups that several commands share."""
