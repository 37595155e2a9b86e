"""Putting the containers of a divided representation together into one package."""
