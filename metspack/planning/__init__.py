"""Divide LOBs into segments, and read and write plan files."""
