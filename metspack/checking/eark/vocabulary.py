# ruff: noqa: RUF001 -- the vocabulary has dashes of two kinds
"""Vocabularies of CSIP 2.2.0: content categories and statuses of metadata. Pure."""

from __future__ import annotations

CONTENT_CATEGORIES = frozenset(
    (
        "Textual works – Print",
        "Textual works – Digital",
        "Textual works – Electronic Serials",
        "Digital Musical Composition (score-based representations)",
        "Musical Scores - Print",
        "Musical Scores - Digital",
        "Photographs – Print",
        "Photographs – Digital",
        "Other Graphic Images – Print",
        "Other Graphic Images – Digital",
        "Microforms",
        "Audio – On Tangible Medium (digital or analog)",
        "Audio – Media-independent (digital)",
        "Motion Pictures – Digital and Physical Media",
        "Video – File-based and Physical Media",
        "Software",
        "Software and Video Games",
        "Email",
        "Datasets",
        "Geospatial Data",
        "Geographic Information System (GIS) - Vector Data",
        "GIS Raster and Georeferenced Images",
        "GIS Vector and Raster Combined",
        "Non-GIS Cartographic",
        "2D and 3D Computer Aided Design",
        "Design (schematics, architectural drawings) - Print",
        "Scanned 3D Objects (output from photogrammetry scanning)",
        "Databases",
        "Websites",
        "Web Archives",
        "Collection",
        "Event",
        "Image",
        "Interactive resource",
        "Moving image",
        "Sound",
        "Still image",
        "Text",
        "Physical object",
        "Service",
        "Mixed",
        "Other",
    )
)

STATUS = frozenset(("CURRENT", "SUPERSEDED"))
