"""The version of the software, as it stands in METS headers."""

from importlib.metadata import version

__version__ = version("metspack")
