"""Object stores: URLs, and the protocol to list, read, put and remove objects."""
