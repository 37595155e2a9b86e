"""Measures metspack beside reference programs; ``python -m bench --help`` lists the options."""
