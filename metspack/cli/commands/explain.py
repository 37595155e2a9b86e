"""``metspack explain``: the meaning of a finding's code, and programs that read LOBs."""

from __future__ import annotations

from metspack.cli import console
from metspack.cli.options import choices, common
from metspack.cli.options.groups import argument

_READERS = "readers"
_FACTS = ("name", "version", "reads", "source", "key")
_HANGING = " " * len("Rule:  ")


def explain(
    code: str = argument(
        "CODE",
        "Code of a finding, such as L001, of an E-ARK requirement, such as CSIP66, or readers.",
        choice=choices.codes,
    ),
    *,
    json_output: bool = common.JSON,
) -> None:
    """Explain the code of a finding: its meaning, its rule, the remedy, and what to write.

    The word readers lists the programs that read archives, and the external LOBs that each finds.

    `metspack explain L001`

    `metspack explain CSIP60`

    `metspack explain readers`
    """
    from metspack import checking  # noqa: PLC0415 -- commands load what they need

    if code.strip().lower() == _READERS:
        _print_readers(json_output=json_output)
        return
    found = checking.explained(code)
    if json_output:
        console.document(found.to_json())
        return
    console.prose(f"{found.code}  {found.title} ({found.severity.value})")
    console.out()
    for paragraph in found.meaning.split("\n\n"):
        console.prose(paragraph)
        console.out()
    console.prose(f"Rule:  {found.clause}", _HANGING)
    console.prose(f"To do: {found.remedy}", _HANGING)
    if found.example:
        console.out()
        for line in found.example.splitlines():
            console.out(line)


def _print_readers(*, json_output: bool) -> None:
    from metspack.layouts.readers import READERS  # noqa: PLC0415 -- commands load what they need

    if json_output:
        readers = ({name: getattr(each, name) or None for name in _FACTS} for each in READERS)
        console.document({"readers": readers})
        return
    for number, each in enumerate(READERS):
        if number:
            console.out()
        console.out(each.label)
        console.prose(f"Reads: {each.reads}", _HANGING)
        console.prose(f"Rule:  {each.source}", _HANGING)
        if each.key:
            console.out(f"To do: --for {each.key}")
