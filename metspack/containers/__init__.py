"""Zip and tar files, and the IPs packed in them: directories read and checked, files written."""
