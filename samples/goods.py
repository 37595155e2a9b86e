"""The eight pictures of the sample table Categories."""

from __future__ import annotations

from collections.abc import Callable

from drawing import Canvas

WIDTH, HEIGHT = 240, 180


def _table(wall: int, light: int, wood: int, edge: int) -> Canvas:
    """Return a canvas with a wall, a patch of light on it, and a table top."""
    canvas = Canvas(WIDTH, HEIGHT, wood)
    canvas.rectangle(0, 0, WIDTH, 132, wall)
    canvas.dome(120, 132, 108, 118, light)
    canvas.rectangle(0, 130, WIDTH, 134, edge)
    return canvas


def _beverages() -> Canvas:
    canvas = _table(0xCEF, 0xEFF, 0xB85, 0x853)
    for x in (40, 200):
        canvas.ellipse(x, 160, 34, 6, 0x964)
    canvas.ellipse(120, 162, 42, 7, 0x964)
    # A bottle,
    canvas.rectangle(34, 18, 48, 62, 0x274)
    canvas.rectangle(32, 12, 50, 22, 0xEC5)
    canvas.dome(41, 82, 22, 28, 0x274)
    canvas.rectangle(19, 81, 63, 160, 0x274)
    canvas.rectangle(19, 96, 63, 136, 0xFFE)
    canvas.ellipse(41, 116, 14, 14, 0xE93)
    canvas.ellipse(41, 116, 8, 8, 0xFC6)
    canvas.line((25, 84), (25, 92), 6, 0x5A7)
    # a glass of beer,
    canvas.ellipse(160, 112, 18, 26, 0x9CE)
    canvas.ellipse(158, 112, 11, 18, 0xEFF)
    canvas.polygon([(88, 60), (152, 60), (147, 162), (93, 162)], 0x9CE)
    canvas.polygon([(92, 68), (148, 68), (143, 157), (97, 157)], 0xFB2)
    canvas.polygon([(100, 70), (108, 70), (111, 153), (105, 153)], 0xFD6)
    for x, y, r in ((94, 60, 12), (110, 52, 14), (128, 54, 15), (144, 60, 11), (120, 62, 14), (101, 68, 8)):
        canvas.ellipse(x, y, r, r, 0xFFE)
    for x, y in ((118, 140), (126, 122), (134, 144), (122, 100), (136, 108), (130, 88)):
        canvas.ellipse(x, y, 2, 2, 0xFFC)
    # and a cup of coffee.
    for x in (188, 202):
        canvas.stroke(((x, 104), (x - 12, 92), (x, 82)), 5, 0xFFF)
        canvas.stroke(((x, 82), (x + 12, 72), (x, 60)), 5, 0xFFF)
    canvas.ellipse(220, 132, 13, 13, 0xD33)
    canvas.ellipse(220, 132, 7, 7, 0xB85)
    canvas.polygon([(170, 116), (220, 116), (212, 162), (178, 162)], 0xD33)
    canvas.ellipse(195, 116, 25, 7, 0xF66)
    canvas.ellipse(195, 117, 21, 5, 0x532)
    canvas.ellipse(195, 163, 32, 5, 0xFDD)
    return canvas


def _condiments() -> Canvas:
    canvas = _table(0xFEC, 0xFFE, 0x9B8, 0x586)
    for x, colour, light, cap in ((38, 0xC21, 0xE54, 0xFFE), (92, 0xEB1, 0xFD5, 0xC62)):
        canvas.ellipse(x + 3, 160, 26, 5, 0x7A6)
        canvas.polygon([(x - 4, 18), (x + 4, 18), (x + 9, 48), (x - 9, 48)], cap)
        canvas.dome(x, 72, 22, 26, colour)
        canvas.rectangle(x - 22, 71, x + 22, 154, colour)
        canvas.ellipse(x, 154, 22, 5, colour)
        canvas.line((x - 15, 76), (x - 15, 145), 8, light)
        canvas.ellipse(x + 2, 112, 14, 18, 0xFFE)
    canvas.ellipse(40, 113, 8, 8, 0xD32)
    canvas.polygon([(36, 108), (40, 100), (44, 108)], 0x483)
    for x, y in ((90, 106), (97, 111), (92, 118), (99, 104)):
        canvas.ellipse(x, y, 3, 3, 0xC81)
    # Salt and pepper,
    for x, colour, holes in ((138, 0xFFF, 0x678), (166, 0x544, 0xDDD)):
        canvas.ellipse(x + 3, 158, 16, 4, 0x7A6)
        canvas.polygon([(x - 9, 96), (x + 9, 96), (x + 14, 156), (x - 14, 156)], colour)
        canvas.dome(x, 97, 10, 15, 0xABC)
        for dx, dy in ((-4, 90), (0, 86), (4, 90)):
            canvas.ellipse(x + dx, dy, 1, 1, 0x456)
        canvas.line((x - 4, 118), (x - 6, 146), 4, holes)
    # and a bowl of relish with a spoon.
    canvas.line((214, 112), (230, 62), 7, 0x89A)
    canvas.ellipse(230, 60, 6, 10, 0x9AB)
    canvas.ellipse(208, 118, 27, 9, 0x37A)
    canvas.ellipse(208, 118, 23, 7, 0x7A3)
    for x, y in ((196, 117), (205, 121), (215, 116), (222, 119), (208, 115)):
        canvas.ellipse(x, y, 3, 2, 0xBD5)
    canvas.polygon([(181, 120), (235, 120), (229, 136), (220, 150), (196, 150), (187, 136)], 0x49C)
    canvas.ellipse(208, 149, 13, 4, 0x37A)
    canvas.ellipse(208, 118, 24, 7, 0x7A3)
    for x, y in ((196, 117), (205, 121), (215, 116), (222, 119), (208, 115)):
        canvas.ellipse(x, y, 3, 2, 0xBD5)
    return canvas


def _confections() -> Canvas:
    canvas = _table(0xFDE, 0xFEE, 0xC9B, 0x96A)
    # A cake on a stand,
    canvas.polygon([(88, 148), (104, 148), (112, 168), (80, 168)], 0xEEF)
    canvas.ellipse(96, 148, 80, 10, 0xFFF)
    canvas.ellipse(96, 145, 76, 8, 0xEEF)
    canvas.rectangle(34, 84, 158, 142, 0xEB6)
    canvas.ellipse(96, 142, 62, 8, 0xEB6)
    canvas.rectangle(34, 106, 158, 114, 0xFFD)
    canvas.rectangle(34, 122, 158, 128, 0xB34)
    canvas.ellipse(96, 82, 62, 13, 0xF8B)
    for x, length in ((40, 16), (54, 28), (69, 20), (84, 32), (100, 22), (116, 30), (132, 18), (149, 26)):
        canvas.line((x, 86), (x, 86 + length), 22, 0xF8B)
    canvas.ellipse(96, 79, 52, 8, 0xFAC)
    for x in (52, 74, 118, 140):
        canvas.ellipse(x, 75, 10, 7, 0xFFF)
        canvas.ellipse(x, 70, 6, 5, 0xFFF)
    canvas.ellipse(96, 75, 13, 9, 0xFFF)
    canvas.stroke(((97, 58), (100, 42), (112, 36)), 4, 0x584)
    canvas.ellipse(96, 63, 10, 10, 0xC12)
    canvas.ellipse(92, 59, 3, 3, 0xF89)
    # and sweets in twisted paper.
    for x, y, colour, light in ((202, 150, 0x39C, 0x9DF), (206, 122, 0x5A4, 0xBE8), (182, 165, 0xE82, 0xFC7)):
        for side in (-1, 1):
            canvas.polygon(
                [(x, y), (x + 27 * side, y - 11), (x + 23 * side, y), (x + 27 * side, y + 11)], light
            )
        canvas.ellipse(x, y, 15, 11, colour)
        canvas.stroke(((x - 7, y - 6), (x, y), (x - 5, y + 7)), 5, light)
        canvas.stroke(((x + 4, y - 8), (x + 9, y), (x + 4, y + 8)), 5, light)
    canvas.line((214, 50), (214, 104), 5, 0xFFF)
    canvas.ellipse(214, 44, 22, 22, 0xE45)
    for r, colour in ((17, 0xFFE), (12, 0xE45), (7, 0xFFE), (3, 0xE45)):
        canvas.ellipse(214, 44, r, r, colour)
    return canvas


def _dairy() -> Canvas:
    canvas = _table(0xCEC, 0xDFD, 0xCA7, 0x975)
    # A wedge of cheese,
    canvas.ellipse(140, 160, 92, 8, 0xA85)
    canvas.polygon([(58, 118), (180, 66), (224, 96), (224, 104)], 0xFE8)
    canvas.polygon([(58, 118), (180, 66), (228, 100)], 0xFE8)
    canvas.polygon([(58, 118), (228, 100), (228, 146), (58, 162)], 0xFC3)
    canvas.line((58, 118), (228, 100), 3, 0xFEA)
    for x, y, a, b in (
        (92, 138, 11, 10),
        (130, 128, 8, 8),
        (162, 140, 13, 11),
        (204, 122, 11, 10),
        (122, 150, 5, 4),
    ):
        canvas.ellipse(x, y, a, b, 0xC80)
        canvas.ellipse(x + 2, y + 2, a - 2, b - 2, 0xEA1)
    for x, y, a, b in ((130, 104, 9, 4), (172, 84, 8, 4), (190, 96, 9, 4)):
        canvas.ellipse(x, y, a, b, 0xDB4)
    # and a bottle of milk.
    canvas.ellipse(38, 164, 30, 6, 0xA85)
    canvas.rectangle(26, 24, 50, 60, 0xDEF)
    canvas.dome(38, 86, 27, 32, 0xDEF)
    canvas.rectangle(11, 85, 65, 158, 0xDEF)
    canvas.ellipse(38, 158, 27, 7, 0xDEF)
    canvas.dome(38, 90, 23, 28, 0xFFF)
    canvas.rectangle(15, 89, 61, 156, 0xFFF)
    canvas.ellipse(38, 156, 23, 6, 0xFFF)
    canvas.rectangle(24, 14, 52, 26, 0x47B)
    canvas.ellipse(38, 14, 14, 3, 0x69D)
    canvas.line((18, 96), (18, 148), 5, 0xEFF)
    # The label is a cow's spots.
    for x, y, a, b in ((34, 112, 9, 6), (50, 124, 7, 8), (30, 136, 6, 7), (46, 146, 8, 4)):
        canvas.ellipse(x, y, a, b, 0x456)
    return canvas


def _wheat(canvas: Canvas, x: int, top: int, lean: int) -> None:
    canvas.stroke(((x + lean, 172), (x, 120), (x, top)), 4, 0xB82)
    for y in range(top, top + 62, 10):
        for side in (-1, 1):
            canvas.stroke(((x, y + 10), (x + 9 * side, y + 6), (x + 8 * side, y - 4)), 9, 0xEB4)
            canvas.line((x + 8 * side, y - 4), (x + 13 * side, y - 18), 2, 0xC92)
    canvas.ellipse(x, top - 4, 4, 8, 0xEB4)


def _grains() -> Canvas:
    canvas = _table(0xACE, 0xCEF, 0xA63, 0x742)
    for x, top, lean in ((28, 44, 18), (58, 28, 8), (88, 46, -6)):
        _wheat(canvas, x, top, lean)
    # A loaf,
    canvas.ellipse(156, 162, 82, 8, 0x852)
    canvas.rectangle(88, 96, 228, 150, 0xC73)
    canvas.rectangle(98, 140, 218, 160, 0xC73)
    canvas.ellipse(112, 96, 32, 26, 0xC73)
    canvas.ellipse(157, 90, 36, 28, 0xC73)
    canvas.ellipse(202, 96, 31, 26, 0xC73)
    canvas.ellipse(98, 149, 10, 11, 0xC73)
    canvas.ellipse(218, 149, 10, 11, 0xC73)
    for x in (112, 157, 202):
        canvas.ellipse(x - 3, 84, 20, 12, 0xD94)
        canvas.stroke(((x - 14, 96), (x, 84), (x + 12, 76)), 6, 0xFDA)
    # two slices
    for x, y in ((74, 166), (104, 170)):
        canvas.ellipse(x - 9, y - 38, 16, 13, 0xB62)
        canvas.ellipse(x + 9, y - 38, 16, 13, 0xB62)
        canvas.rectangle(x - 21, y - 36, x + 21, y, 0xB62)
        canvas.ellipse(x - 8, y - 37, 13, 10, 0xFEB)
        canvas.ellipse(x + 8, y - 37, 13, 10, 0xFEB)
        canvas.rectangle(x - 17, y - 36, x + 17, y - 4, 0xFEB)
        for dx, dy in ((-8, -28), (4, -32), (9, -18), (-4, -14), (-12, -10), (2, -23)):
            canvas.ellipse(x + dx, y + dy, 2, 1, 0xEC8)
    # and a pretzel.
    for points in (
        ((182, 160), (152, 122), (186, 128)),
        ((186, 128), (200, 136), (206, 164)),
        ((202, 160), (236, 122), (200, 128)),
        ((200, 128), (184, 136), (180, 164)),
        ((180, 158), (193, 176), (206, 158)),
    ):
        canvas.stroke(points, 13, 0x631)
    for x, y in ((172, 140), (192, 134), (212, 138), (193, 167), (178, 130), (208, 130)):
        canvas.ellipse(x, y, 1, 1, 0xFFE)
    return canvas


def _meat() -> Canvas:
    canvas = _table(0xEDC, 0xFED, 0x744, 0x522)
    canvas.ellipse(120, 150, 112, 24, 0x633)
    canvas.ellipse(120, 144, 112, 24, 0xFFF)
    canvas.ellipse(120, 142, 90, 17, 0xDEE)
    # A roast bird,
    canvas.ellipse(96, 112, 62, 36, 0xB62)
    canvas.ellipse(82, 100, 44, 24, 0xC83)
    canvas.stroke(((62, 92), (76, 80), (98, 82)), 8, 0xEB7)
    canvas.line((152, 98), (186, 70), 13, 0xFFE)
    canvas.ellipse(189, 63, 7, 7, 0xFFE)
    canvas.ellipse(193, 71, 7, 7, 0xFFE)
    canvas.polygon([(112, 92), (146, 82), (164, 96), (150, 116), (118, 134)], 0xB62)
    canvas.ellipse(128, 112, 30, 24, 0xC83)
    canvas.stroke(((112, 116), (116, 98), (132, 94)), 7, 0xEB7)
    canvas.stroke(((48, 112), (64, 138), (86, 128)), 12, 0x952)
    # two sausages
    for x, y in ((150, 142), (166, 128)):
        canvas.stroke(((x - 8, y), (x + 20, y + 14), (x + 46, y - 4)), 24, 0x832)
        canvas.stroke(((x - 6, y - 2), (x + 20, y + 10), (x + 42, y - 6)), 6, 0xB54)
    # and green leaves.
    for x, y in ((40, 140), (54, 150), (28, 146), (70, 154), (88, 156)):
        canvas.ellipse(x, y, 11, 7, 0x483)
        canvas.ellipse(x - 4, y - 3, 6, 4, 0x6A4)
    for x, y in ((108, 154), (122, 157)):
        canvas.ellipse(x, y, 8, 7, 0xD32)
        canvas.ellipse(x - 3, y - 3, 2, 2, 0xF98)
    for x in (70, 96, 122):
        canvas.stroke(((x, 56), (x - 12, 44), (x, 34)), 5, 0xFFF)
        canvas.stroke(((x, 34), (x + 12, 24), (x, 12)), 5, 0xFFF)
    return canvas


def _produce() -> Canvas:
    canvas = _table(0xFE9, 0xFFB, 0x8A5, 0x573)
    # An apple,
    canvas.ellipse(58, 162, 44, 6, 0x684)
    canvas.ellipse(44, 120, 28, 40, 0xC22)
    canvas.ellipse(72, 120, 28, 40, 0xC22)
    canvas.ellipse(58, 130, 34, 32, 0xC22)
    canvas.ellipse(36, 106, 8, 13, 0xF77)
    canvas.stroke(((58, 88), (58, 74), (66, 64)), 7, 0x642)
    canvas.stroke(((62, 78), (78, 58), (98, 62)), 12, 0x493)
    canvas.ellipse(84, 66, 14, 7, 0x493)
    # grapes,
    canvas.stroke(((150, 44), (146, 26), (160, 18)), 6, 0x752)
    canvas.polygon([(150, 40), (168, 18), (178, 28), (194, 26), (190, 40), (198, 50), (176, 52)], 0x5A3)
    canvas.line((152, 42), (188, 38), 3, 0x7C5)
    for row, (count, y) in enumerate(((4, 56), (5, 72), (4, 88), (3, 104), (2, 120), (1, 136))):
        for i in range(count):
            x = 150 - 9 * (count - 1) + 18 * i + row % 2
            canvas.ellipse(x, y, 10, 10, 0x426)
            canvas.ellipse(x - 1, y - 1, 8, 8, 0x63A)
            canvas.ellipse(x - 4, y - 4, 2, 2, 0xB9E)
    # a carrot
    for lean in (-14, 0, 14):
        canvas.stroke(((214, 92), (214 + lean // 2, 72), (214 + lean, 56)), 9, 0x4A4)
    canvas.polygon([(202, 96), (226, 96), (218, 154), (212, 168), (208, 154)], 0xE72)
    canvas.ellipse(214, 96, 12, 7, 0xE72)
    for x, y in ((205, 108), (214, 122), (209, 138)):
        canvas.line((x, y), (x + 8, y + 1), 3, 0xB51)
    # and beans.
    for x, y in ((104, 160), (122, 166), (112, 150), (136, 158), (180, 164), (166, 158)):
        canvas.stroke(((x - 6, y + 2), (x, y - 6), (x + 6, y + 2)), 12, 0xFDA)
        canvas.line((x - 3, y - 2), (x, y - 3), 3, 0xFFE)
    return canvas


def _fish(canvas: Canvas, x: int, y: int, side: int, colours: tuple[int, int, int]) -> None:
    body, belly, fin = colours
    canvas.polygon(
        [(x - 40 * side, y), (x - 70 * side, y - 24), (x - 62 * side, y), (x - 70 * side, y + 24)], fin
    )
    canvas.polygon([(x + 10 * side, y - 20), (x - 20 * side, y - 38), (x - 26 * side, y - 14)], fin)
    canvas.polygon([(x, y + 18), (x - 20 * side, y + 34), (x - 18 * side, y + 14)], fin)
    canvas.ellipse(x, y, 50, 24, body)
    canvas.ellipse(x + 4 * side, y + 10, 36, 12, belly)
    for dx in (-26, -14, -2, 10):
        canvas.stroke(((x + dx * side, y - 12), (x + (dx - 8) * side, y - 2), (x + dx * side, y + 8)), 3, fin)
    canvas.stroke(((x + 24 * side, y - 16), (x + 16 * side, y), (x + 24 * side, y + 14)), 4, fin)
    canvas.ellipse(x + 34 * side, y - 6, 7, 7, 0xFFF)
    canvas.ellipse(x + 36 * side, y - 6, 3, 3, 0x123)
    canvas.stroke(((x + 48 * side, y + 4), (x + 42 * side, y + 8), (x + 36 * side, y + 6)), 3, 0x934)


def _seafood() -> Canvas:
    canvas = Canvas(WIDTH, HEIGHT, 0xEC8)
    canvas.shade(0, 160, 0x8DE, 0x159)
    for x, y, r in ((30, 26, 5), (40, 12, 3), (206, 44, 5), (214, 28, 4), (208, 14, 3), (124, 20, 4)):
        canvas.ellipse(x, y, r, r, 0xDFF)
        canvas.ellipse(x, y, r - 1, r - 1, 0x9DE)
    # Seaweed,
    for x, top, colour in ((18, 70, 0x274), (34, 96, 0x385), (226, 62, 0x385)):
        middle = (top + 168) // 2
        canvas.stroke(((x, 168), (x - 16, (middle + 168) // 2), (x, middle)), 11, colour)
        canvas.stroke(((x, middle), (x + 16, (middle + top) // 2), (x, top)), 9, colour)
    canvas.ellipse(60, 176, 90, 14, 0xEC8)
    canvas.ellipse(190, 178, 100, 14, 0xDB7)
    # two fish,
    _fish(canvas, 96, 58, 1, (0xF83, 0xFC9, 0xD52))
    _fish(canvas, 154, 110, -1, (0x7AC, 0xDEF, 0x468))
    # and a starfish among shells.
    canvas.polygon([(64, 140), (70, 153), (84, 154), (73, 162), (78, 175), (64, 167)], 0xD44)
    canvas.polygon([(64, 140), (58, 153), (44, 154), (55, 162), (50, 175), (64, 167)], 0xD44)
    canvas.ellipse(64, 159, 7, 7, 0xF77)
    for x in (150, 176):
        canvas.dome(x, 172, 13, 15, 0xFEE)
        for dx in (-8, -3, 3, 8):
            canvas.line((x, 170), (x + dx, 161), 2, 0xD9A)
    return canvas


_CATEGORIES: tuple[tuple[str, Callable[[], Canvas], int], ...] = (
    ("Beverages", _beverages, 10_151),
    ("Condiments", _condiments, 12_107),
    ("Confections", _confections, 12_007),
    ("Dairy Products", _dairy, 9_756),
    ("Grains/Cereals", _grains, 12_131),
    ("Meat/Poultry", _meat, 11_280),
    ("Produce", _produce, 12_338),
    ("Seafood", _seafood, 12_069),
)


def category_pictures() -> list[bytes]:
    """Return the eight pictures of Categories, of the sizes in the recommendation (0.28 §5.2)."""
    return [draw().png(size, title) for title, draw, size in _CATEGORIES]
