"""The watch over all tests: the network, and files that no test may change or read, are refused."""
