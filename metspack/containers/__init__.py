"""Zip and tar files, and the IPs packed in them: checked directories, and files written."""
