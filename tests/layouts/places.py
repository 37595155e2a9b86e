"""Places of LOBs for hypothesis to draw."""

from hypothesis import strategies as st

from metspack.model import LobPlace

NUMBERS = st.integers(0, 20) | st.integers(0, 10**12)
ROWS = st.integers(1, 20) | st.integers(1, 10**12)
CELLS = st.builds(
    lambda column, below: ".".join((f"c{column}", *below)),
    st.integers(1, 20),
    st.lists(st.builds("{}{}".format, st.sampled_from("ua"), st.integers(1, 12)), max_size=3),
)
PLACES = st.builds(LobPlace, schema=NUMBERS, table=NUMBERS, cell=CELLS, row=ROWS)


def place(cell: str, row: int = 1, schema: int = 0, table: int = 2) -> LobPlace:
    return LobPlace(schema=schema, table=table, cell=cell, row=row)
