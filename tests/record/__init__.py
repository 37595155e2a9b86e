"""The record of what metspack finds and takes, against which every change is held."""
