"""Object stores: URLs of objects, and the protocol by which objects are listed, read, put and removed."""
