"""Tests of metspack on Windows: a CPython for Windows, run by Wine; `just windows`."""
