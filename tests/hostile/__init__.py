"""Inputs that ask for much time or memory, of any size, and the cost of each for metspack."""
