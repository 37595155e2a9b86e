"""Files of a package: listed, present, and of the digest that is said of them."""
