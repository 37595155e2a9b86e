"""Options of the command line set fields of the functions' options, and each field is set."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from metspack.building.build import BuildOptions
from metspack.checking.options import CheckOptions
from metspack.cli.commands.check import LookGroup
from metspack.cli.options.common import LocationGroup
from metspack.cli.options.csip import DialectGroup
from metspack.cli.options.groups import Group, declared
from metspack.cli.options.package import BuildGroup, DescriptionGroup, DivisionGroup
from metspack.mets.dialects.csip.package import CsipOptions
from metspack.mets.dialects.csip.terms import Agents

BUILD: tuple[type[Group], ...] = (DivisionGroup, LocationGroup, BuildGroup, DescriptionGroup, DialectGroup)


def targets(*groups: type[Group]) -> set[str]:
    return {
        option.to or field.name
        for each in groups
        for field, option in declared(each)
        if option.to is not None
    }


def names(*options: type[Any]) -> set[str]:
    return {each.name for kind in options for each in fields(kind)}


@pytest.mark.parametrize(
    ("groups", "options"),
    [(BUILD, (BuildOptions, CsipOptions, Agents)), ((LookGroup,), (CheckOptions,))],
)
def test_each_option_has_a_field(groups: tuple[type[Group], ...], options: tuple[type[Any], ...]) -> None:
    # The one that is not called like the field it goes to: the dialect reads it.
    assert targets(*groups) - {"preservation_agent"} <= names(*options)


def test_every_field_of_a_build_has_its_option() -> None:
    composed = {"limits", "grants", "dialect", "dialect_options", "agents"}  # each of several options
    of_the_command = {"plan", "terms", "is_dated", "jobs", "cluster", "given"}
    of_the_command |= {"created", "software", "packagers", "preservation"}
    reached = targets(*BUILD) | composed | of_the_command
    assert names(BuildOptions, CsipOptions, Agents) <= reached
