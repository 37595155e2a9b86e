"""The requirements of the E-ARK standards: which there are, and what a package breaks of them."""
