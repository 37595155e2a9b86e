"""Values in templates: escaped, and what does not print shown as codes."""

from __future__ import annotations

from markupsafe import Markup

from metspack.reporting import templates


def test_marks_that_turn_text_around_are_shown_as_codes() -> None:
    assert str(templates.visible("a\u202eb\u200d<")) == "a\\u202eb\\u200d&lt;"
    assert templates.visible(Markup("<b>")) == "<b>"
