"""What PREMIS says of files is compared by look-ups: no list of all cells is gone through for each object."""

from __future__ import annotations

from metspack.checking.catalogue import Catalogue
from metspack.checking.files import metadatafiles


def test_what_cells_state_is_looked_up_by_path() -> None:
    with Catalogue() as catalogue:
        catalogue.index()
        plan = [str(row[-1]) for row in catalogue.rows(f"EXPLAIN QUERY PLAN {metadatafiles._PUT_APART}")]
    assert any("cell_path" in each for each in plan)
    assert not any("LIST SUBQUERY" in each for each in plan)
