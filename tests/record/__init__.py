"""The recorded findings and options of metspack; every change is compared with them."""
