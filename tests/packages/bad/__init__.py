"""Packages that are bad in one way each: a recipe damages a good one.

A recipe's name begins with the code it is for; ``codes`` is everything that a check then finds.
"""

from tests.packages.bad.grammar import GRAMMAR
from tests.packages.bad.links import LINKS
from tests.packages.bad.places import PLACES
from tests.packages.bad.recipe import Bad
from tests.packages.bad.siard import SIARD
from tests.packages.bad.split import SPLIT
from tests.packages.bad.tree import TREE
from tests.packages.bad.xml import XML

BAD: tuple[Bad, ...] = (*XML, *GRAMMAR, *LINKS, *TREE, *SIARD, *PLACES, *SPLIT)

__all__ = ["BAD", "Bad"]
