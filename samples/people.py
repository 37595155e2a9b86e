"""The portraits of the sample table Employees, and the seal on its suppliers' contracts."""

from __future__ import annotations

from dataclasses import dataclass

from drawing import Canvas


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a person looks like; the colours are ``0xRGB``."""

    skin: int
    shadow: int
    hair: int
    style: str
    clothes: int
    trim: int
    wall: int
    light: int
    glasses: bool = False
    beard: bool = False


_PEOPLE = (
    (
        Look(
            skin=0xFCA,
            shadow=0xE98,
            hair=0x532,
            style="long",
            clothes=0x37A,
            trim=0xFFF,
            wall=0xCDE,
            light=0xDEF,
        ),
        11_904,
    ),
    (
        Look(
            skin=0x853,
            shadow=0x642,
            hair=0x222,
            style="short",
            clothes=0xEEE,
            trim=0xB33,
            wall=0xEDB,
            light=0xFEC,
        ),
        12_210,
    ),
    (
        Look(
            skin=0xFDB,
            shadow=0xEA9,
            hair=0xC52,
            style="bun",
            clothes=0x364,
            trim=0xDB4,
            wall=0xDEC,
            light=0xEFD,
        ),
        11_333,
    ),
    (
        Look(
            skin=0xDA7,
            shadow=0xB85,
            hair=0x221,
            style="long",
            clothes=0xA36,
            trim=0xFDD,
            wall=0xEEC,
            light=0xFFD,
            glasses=True,
        ),
        12_087,
    ),
    (
        Look(
            skin=0xFCB,
            shadow=0xE9A,
            hair=0xAAA,
            style="short",
            clothes=0x345,
            trim=0xCDE,
            wall=0xBCC,
            light=0xCDD,
            beard=True,
        ),
        12_144,
    ),
    (
        Look(
            skin=0xEB8,
            shadow=0xC96,
            hair=0x421,
            style="short",
            clothes=0x862,
            trim=0xFEC,
            wall=0xCED,
            light=0xDFE,
            glasses=True,
        ),
        11_865,
    ),
    (
        Look(
            skin=0xFDC,
            shadow=0xEBA,
            hair=0xEC6,
            style="bald",
            clothes=0x575,
            trim=0xFFF,
            wall=0xDDE,
            light=0xEEF,
            beard=True,
        ),
        11_920,
    ),
    (
        Look(
            skin=0x964,
            shadow=0x753,
            hair=0x311,
            style="bun",
            clothes=0xE83,
            trim=0x735,
            wall=0xDEF,
            light=0xEFF,
        ),
        11_967,
    ),
    (
        Look(
            skin=0xFDB,
            shadow=0xEA9,
            hair=0xABC,
            style="bun",
            clothes=0x639,
            trim=0xDCE,
            wall=0xFDB,
            light=0xFEC,
            glasses=True,
        ),
        12_199,
    ),
)


def _hair_behind(canvas: Canvas, look: Look) -> None:
    if look.style == "long":
        canvas.ellipse(90, 82, 50, 52, look.hair)
        canvas.rectangle(40, 82, 140, 142, look.hair)
        canvas.ellipse(58, 142, 18, 10, look.hair)
        canvas.ellipse(122, 142, 18, 10, look.hair)
    elif look.style == "bun":
        canvas.ellipse(90, 24, 20, 18, look.hair)
        canvas.ellipse(90, 74, 44, 44, look.hair)
    elif look.style == "short":
        canvas.ellipse(90, 72, 43, 44, look.hair)


def _hair_before(canvas: Canvas, look: Look) -> None:
    if look.style == "bald":
        canvas.ellipse(52, 84, 6, 14, look.hair)
        canvas.ellipse(128, 84, 6, 14, look.hair)
        canvas.ellipse(76, 48, 10, 5, 0xFFF)
        return
    canvas.dome(90, 62, 39, 30, look.hair)
    canvas.stroke(((54, 72), (56, 56), (72, 54)), 14, look.hair)
    canvas.stroke(((126, 72), (124, 56), (108, 54)), 14, look.hair)


def _face(canvas: Canvas, look: Look) -> None:
    for x in (52, 128):
        canvas.ellipse(x, 90, 7, 11, look.shadow)
    canvas.ellipse(90, 88, 38, 46, look.skin)
    if look.beard:
        canvas.stroke(((56, 98), (58, 146), (90, 136)), 26, look.hair)
        canvas.stroke(((124, 98), (122, 146), (90, 136)), 26, look.hair)
        canvas.stroke(((76, 110), (90, 102), (104, 110)), 10, look.hair)
    for x in (74, 106):
        canvas.ellipse(x, 84, 7, 5, 0xFFF)
        canvas.ellipse(x, 84, 4, 4, 0x346)
        canvas.ellipse(x - 1, 83, 1, 1, 0xFFF)
        canvas.stroke(
            ((x - 9, 75), (x, 70), (x + 9, 74)), 5, look.shadow if look.style == "bald" else look.hair
        )
    canvas.stroke(((90, 88), (84, 102), (92, 103)), 4, look.shadow)
    canvas.stroke(((78, 114), (90, 124), (102, 114)), 6, 0xB44)
    if look.glasses:
        for x in (74, 106):
            for points in (
                ((x - 13, 84), (x - 13, 74), (x, 74)),
                ((x, 74), (x + 13, 74), (x + 13, 84)),
                ((x + 13, 84), (x + 13, 95), (x, 95)),
                ((x, 95), (x - 13, 95), (x - 13, 84)),
            ):
                canvas.stroke(points, 4, 0x234)
        canvas.stroke(((87, 84), (90, 80), (93, 84)), 4, 0x234)


def _portrait(look: Look) -> Canvas:
    """Return a head with shoulders before a wall."""
    canvas = Canvas(180, 200, look.wall)
    canvas.ellipse(90, 96, 84, 90, look.light)
    _hair_behind(canvas, look)
    canvas.dome(90, 200, 76, 58, look.clothes)
    canvas.rectangle(74, 120, 106, 152, look.shadow)
    canvas.polygon([(66, 148), (90, 182), (114, 148), (106, 140), (74, 140)], look.trim)
    canvas.polygon([(74, 138), (90, 166), (106, 138)], look.shadow)
    _face(canvas, look)
    _hair_before(canvas, look)
    return canvas


def employee_photos() -> list[bytes]:
    """Return a portrait for each of the nine employees."""
    return [_portrait(look).png(size, f"Employee {number}") for number, (look, size) in enumerate(_PEOPLE, 1)]


def seal(colour: int, title: str, size: int) -> bytes:
    """Return a small round seal as a PNG of ``size`` bytes."""
    canvas = Canvas(96, 96, 0xFFE)
    for x, y in ((48, 8), (76, 20), (88, 48), (76, 76), (48, 88), (20, 76), (8, 48), (20, 20)):
        canvas.ellipse(x, y, 7, 7, colour)
    canvas.ellipse(48, 48, 42, 42, colour)
    canvas.ellipse(48, 48, 36, 36, 0xFFE)
    canvas.ellipse(48, 48, 33, 33, colour)
    # The points of a star are whole numbers, as everything here.
    canvas.polygon(
        [(48, 20), (55, 39), (75, 39), (59, 51), (65, 71), (48, 59), (31, 71), (37, 51), (21, 39), (41, 39)],
        0xFFE,
    )
    return canvas.png(size, title)
