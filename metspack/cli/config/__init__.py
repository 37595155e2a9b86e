"""Options set in configuration files and in the environment."""
