"""The dialect of E-ARK CSIP 2.2.0: parent and children are separate packages, side by side."""

from __future__ import annotations

from metspack.mets.dialects import DialectFacts
from metspack.mets.dialects.csip.terms import (
    CHILD_LINKS,
    CONTENT_TYPES,
    CSIP_VERSIONS,
    LINK_STYLES,
    PACKAGE_TYPES,
    PROFILES,
    SIP_VERSIONS,
)

FACTS = DialectFacts(
    summary="every IP a package of its own after E-ARK CSIP 2.2.0",
    checksum="SHA-256",
    options={
        "profile": PROFILES,
        "csip_version": CSIP_VERSIONS,
        "sip_version": SIP_VERSIONS,
        "package_type": PACKAGE_TYPES,
        "content_type": CONTENT_TYPES,
        "link_style": LINK_STYLES,
        "child_links": CHILD_LINKS,
        "representation": (),
        "submitter": (),
        "submitter_code": (),
        "archival_creator": (),
        "archival_creator_code": (),
        "preservation_agent": (),
        "descriptive": (),
        "documentation": (),
        "schemas": (),
        "roda_ancestors": (),
    },
    no_sidecars="Its METS and PREMIS say as much",
    not_in_place="it requires folders of its own",
    merges=True,
)
