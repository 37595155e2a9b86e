"""Values in templates: escaped, and what does not print shown as codes."""

from __future__ import annotations

from markupsafe import Markup

from metspack.reporting import html


def test_marks_that_turn_text_around_are_shown_as_codes() -> None:
    assert str(html.visible("a\u202eb\u200d<")) == "a\\u202eb\\u200d&lt;"
    assert html.visible(Markup("<b>")) == "<b>"
