"""The links of packages as a picture of its own: the map of the HTML report as an SVG document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from metspack.checking.graph import Graph
from metspack.reporting import linkmaps, relations
from metspack.reporting.templating import environment
from metspack.sizes import counted

_COLOUR = re.compile(r"--([\w-]+): (#[0-9a-f]{6})")
_USE = re.compile(r"var\(--([\w-]+)\)")


def document(graphs: Sequence[Graph]) -> Iterator[str]:
    """Yield the picture, all packages below each other; light, for it is to stand in other documents."""
    above = [f"{graph.path}/" if len(graphs) > 1 else "" for graph in graphs]
    pairs = list(zip(graphs, above, strict=True))
    links = sum(len(graph.edges) for graph in graphs)
    faults = sum(edge.is_fault for graph in graphs for edge in graph.edges)
    found = linkmaps.linked(
        [top for graph, path in pairs if (top := relations.top(graph, path))],
        [child for graph, path in pairs for _, child in relations.children(graph, path)],
        [parent for graph, path in pairs for parent in relations.parents(graph, path)],
    )
    yield (
        environment()
        .get_template("links.svg.j2")
        .render(
            map=found,
            style=_style(),
            title=f"Links of {', '.join(graph.path for graph in graphs)}",
            description=f"{counted(links, 'link')}, {faults:,} of them at fault.",
        )
    )


def _style() -> str:
    """Return the map's style sheet with colours for variables, which few programs but browsers know."""
    light, _, _ = environment().get_template("colours.css").render().partition("@media")
    colours = dict(_COLOUR.findall(light))
    return _USE.sub(lambda found: colours[found[1]], environment().get_template("map.css").render())
