"""Zip and tar files, and IPs that lie in them: directories read and checked, files written."""
