"""Packages on numbered media: divided by whole segments, written, checked in any subset."""
