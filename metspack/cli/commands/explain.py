"""``metspack explain``: the meaning of a finding's code, and what other programs read."""

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

    The word readers lists the programs that read archives, with what they find of LOBs outside one.

    `metspack explain L001`

    `metspack explain CSIP60`

    `metspack explain readers`
    """
    from metspack import checking  # noqa: PLC0415 -- commands load what they need

    if code.strip().lower() == _READERS:
        _tell_readers(json_output=json_output)
        return
    said = checking.explained(code)
    if json_output:
        console.document(said.to_json())
        return
    console.prose(f"{said.code}  {said.title} ({said.severity.value})")
    console.out()
    console.prose(said.meaning)
    console.out()
    console.prose(f"Rule:  {said.clause}", _HANGING)
    console.prose(f"To do: {said.remedy}", _HANGING)
    if said.example:
        console.out()
        for line in said.example.splitlines():
            console.out(line)


def _tell_readers(*, json_output: bool) -> None:
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
