"""``metspack explain``: the meaning of a finding's code."""

from __future__ import annotations

from typing import Annotated

from metspack.cli import console
from metspack.cli.options import choices
from metspack.cli.options.groups import argument


def explain(
    code: Annotated[
        str,
        argument(
            "CODE",
            "Code of a finding, such as L001, or of an E-ARK requirement, such as CSIP66.",
            choice=choices.codes,
        ),
    ],
) -> None:
    """Explain the code of a finding: its meaning, its rule, and the remedy.

    `metspack explain L001`
    """
    from metspack import checking  # noqa: PLC0415 -- commands load what they need

    said = checking.explained(code)
    console.out(f"{said.code}  {said.title} ({said.severity.value})")
    console.out()
    console.out(said.meaning)
    console.out()
    console.out(f"Rule:  {said.clause}")
    console.out(f"To do: {said.remedy}")
