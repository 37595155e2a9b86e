"""The requirements of the E-ARK standards, and the check of a package against them."""
