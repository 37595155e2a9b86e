"""``python -m tests.cluster``: commands by four workers, two of them killed with -9, so many times."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests import siards
from tests.cluster import rounds
from tests.cluster.hosts import ended, metspack
from tests.conftest import CHECKOUT
from tests.trees import tree


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    os.environ["SOURCE_DATE_EPOCH"] = "1700000000"
    source = CHECKOUT / "samples" / "northwind" / "Northwind-full.siard"
    with tempfile.TemporaryDirectory(prefix="cluster-") as place:
        folder = Path(place)
        code, _, errors = ended(metspack("build", source, "-o", folder / "one", *rounds.LIMIT))
        assert code == 0, errors
        expected = tree(folder / "one")
        # As many as a task holds are read together: these are eight tasks.
        many = siards.packed(
            folder / "Many.siard", siards.parts(siards.lobs(*map(str.encode, map(str, range(8_000)))))
        )
        code, _, errors = ended(metspack("build", many, "-o", folder / "many", "--max-files", "1000"))
        assert code == 0, errors
        code, _, errors = ended(metspack("restore", folder / "many", "-o", folder / "lobs"))
        assert code == 0, errors
        restored = tree(folder / "lobs")
        for seed in range(given.seed, given.seed + given.rounds):
            (here := folder / str(seed)).mkdir()
            sys.stdout.write(f"{rounds.make_round(here, source, expected, seed)}\n")
            (reading := folder / f"{seed}-reading").mkdir()
            sys.stdout.write(f"{rounds.make_reading_round(reading, folder / 'many', restored, seed)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
