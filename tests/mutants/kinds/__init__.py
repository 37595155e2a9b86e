"""The kinds of changes, in one table."""

from tests.mutants.kinds.archives import ARCHIVE_KINDS
from tests.mutants.kinds.kind import Kind
from tests.mutants.kinds.links import LINK_KINDS
from tests.mutants.kinds.lists import LIST_KINDS
from tests.mutants.kinds.lobs import LOB_KINDS
from tests.mutants.kinds.meaningless import MEANINGLESS_KINDS
from tests.mutants.kinds.mets import METS_KINDS
from tests.mutants.kinds.sidecars import SIDECAR_KINDS

KINDS: tuple[Kind, ...] = (
    *METS_KINDS,
    *LINK_KINDS,
    *LOB_KINDS,
    *LIST_KINDS,
    *SIDECAR_KINDS,
    *ARCHIVE_KINDS,
    *MEANINGLESS_KINDS,
)
