"""Merge the IPs of a divided representation into one package."""
