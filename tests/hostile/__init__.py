"""Inputs that ask for much of time or memory, made at any size, and what metspack takes for them."""
