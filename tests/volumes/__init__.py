"""Packages on volumes."""
