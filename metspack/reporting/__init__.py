"""Findings and figures as text, JSON and other forms."""
