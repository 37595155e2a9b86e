"""The version of the software, as it is written into METS headers."""

from importlib.metadata import version

__version__ = version("metspack")
