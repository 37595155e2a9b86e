"""A survey of a document in blocks."""

from metspack.checking.eark.faults import Faults
from metspack.checking.eark.outline import Outline
from metspack.checking.eark.survey import Survey


def surveyed(blocks: list[bytes], faults: Faults, *, is_package: bool) -> Outline:
    survey = Survey(faults, is_package=is_package)
    for block in blocks:
        survey.feed(block)
    survey.end()
    return survey.outline
