"""The rows of the sample database: the categories as in the recommendation (0.28 §5.2), the rest made up."""

from __future__ import annotations

from siard_model import Value

Rows = list[tuple[Value, ...]]

CATEGORIES = (
    ("Beverages", "Soft drinks, coffees, teas, beers, and ales"),
    ("Condiments", "Sweet and savory sauces, relishes, spreads, and seasonings"),
    ("Confections", "Desserts, candies, and sweet breads"),
    ("Dairy Products", "Cheeses"),
    ("Grains/Cereals", "Breads, crackers, pasta, and cereal"),
    ("Meat/Poultry", "Prepared meats"),
    ("Produce", "Dried fruit and bean curd"),
    ("Seafood", "Seaweed and fish"),
)

_CUSTOMERS = (
    ("BLAUE", "Zur Blauen Ente", "Henrike Maaß", "Owner", "Fährgasse 3", "Bremen", "28195", "Germany"),
    ("CHOUX", "Le Chou Rieur", "Amélie Fontanel", "Buyer", "9, quai des Brumes", "Nantes", "44000", "France"),
    ("FJORD", "Fjordkøkkenet", "Søren Ådal", "Chef", "Havnevej 21", "Aalborg", "9000", "Denmark"),
    ("LIPAX", "Pod Lipou", "Zdeněk Říha", "Owner", "Na Kopečku 7", "Olomouc", "77900", "Czechia"),
    ("MARIS", "Stella Maris", "Noemi Caruso", "Buyer", "Via del Molo 40", "Trieste", "34121", "Italy"),
    ("PINEH", "Pine Hill Stores", "Walter O'Dell", "Manager", "2 Mill Lane", "Kendal", "LA9 4QU", "UK"),
)

EMPLOYEES = (
    ("Lindqvist", "Maja", "Head of Sales", "Ms.", "1984-03-17", "Uppsala", "Sweden", None),
    ("Adeyemi", "Tunde", "Buyer", "Mr.", "1990-11-02", "Lagos", "Nigeria", 1),
    ("O'Rourke", "Siobhan", "Sales", "Ms.", "1995-06-23", "Galway", "Ireland", 1),
    ("Iyer", "Kavita", "Accounts", "Dr.", "1979-01-30", "Chennai", "India", 1),
    ("Brandt", "Joachim", "Warehouse", "Mr.", "1963-08-09", "Husum", "Germany", 1),
    ("Şahin", "Cem", "Sales", "Mr.", "1988-12-12", "İzmir", "Türkiye", 3),
    ("de Wit", "Ruben", "Driver", "Mr.", "1971-05-05", "Delft", "Netherlands", 5),
    ("Mensah", "Efua", "Quality", "Dr.", "1986-02-28", "Cape Coast", "Ghana", 1),
    ("Novotná", "Ludmila", "Archive", "Mrs.", "1958-10-28", "Brno", "Czechia", 4),
)

_NOTES = (
    "Speaks Swedish, English and enough Finnish to bargain.",
    'Finds the best cocoa; writes "ask twice" on every contract.',
    "Won the regional cheese quiz, twice.",
    "Balances the books & the office plants.",
    None,
    "Plays the bağlama at the summer party.",
    "Has not been late since 1999.",
    "Tastes everything; signs only what was tasted.",
    "Keeps what others would throw away, and finds it again.",
)

_SUPPLIERS = (
    ("Teehaus Elbe", "Inga Petersen", "Speicherweg 14", "Hamburg", "20457", "Germany"),
    ("Moulin Gris", "Luc Barreau", "Route du Moulin", "Chartres", "28000", "France"),
    ("Alpage d'en Haut", "Reto Caflisch", "Dorfstrasse 1", "Davos", "7270", "Switzerland"),
    ("Casa Olivar", "Pilar Ibáñez", "Calle Mayor 88", "Jaén", "23001", "Spain"),
    ("Kaigan Foods", "大西 葵", "Minato 5-2", "Hakodate", "040-0063", "Japan"),
    ("North Sea Catch", "Ewan Muir", "Harbour Row 6", "Peterhead", "AB42 1DW", "UK"),
)

HOME_PAGES = (
    "Teehaus Elbe: Tee seit 1887. Öffnungszeiten: Mo bis Fr, 9 bis 17 Uhr. ☕\nhttps://teehaus-elbe.example/\n",
    "Moulin Gris, farines et pains depuis toujours. Goûtez l'épeautre ! 🌾🥖\nhttps://moulin-gris.example/\n",
    "",
    "Casa Olivar: aceite, aceitunas y jamón. ¡Pruébelo! 🫒\nhttps://olivar.example/\n",
    "海岸フーズ「昆布と魚」。𩸽 ほっけ は冬が旬です。🐟\nhttps://kaigan.example/\n",
    None,
)
"""The third is a text of no characters, the last is no text at all."""

_PRODUCTS = (
    ("Dockside Tea", 1, 1, "20 bags", "4.5000", 120),
    ("Harbour Stout", 6, 1, "12 bottles", "22.8000", 48),
    ("Green Relish", 4, 2, "6 jars", "13.2000", 61),
    ("Sea Mustard", 6, 2, "24 jars", "31.0000", 17),
    ("Almond Bites", 4, 3, "1 kg bag", "11.9000", 75),
    ("Rhubarb Drops", 1, 3, "500 g tin", "6.4000", 90),
    ("Alp Cheese", 3, 4, "3 kg wheel", "54.0000", 22),
    ("Goat Rounds", 3, 4, "10 x 100 g", "19.5000", 34),
    ("Spelt Loaf", 2, 5, "1 loaf", "4.2000", 40),
    ("Oat Crackers", 2, 5, "12 packs", "15.6000", 66),
    ("Smoked Ham", 4, 6, "1 leg", "88.0000", 9),
    ("Duck Rillettes", 2, 6, "8 jars", "36.4000", 25),
    ("Dried Pears", 3, 7, "1 kg bag", "14.0000", 52),
    ("Silken Tofu", 5, 7, "24 packs", "27.6000", 31),
    ("Kombu", 5, 8, "500 g pack", "17.3000", 44),
    ("Cured Herring", 6, 8, "10 tins", "21.7000", 58),
)

_TERRITORIES = (
    ("10115", "Old Port", 1),
    ("10220", "Lighthouse Bay", 1),
    ("20310", "Long Fields", 2),
    ("20440", "Mill Crossing", 2),
    ("30150", "Chapel Hill", 3),
    ("30275", "Quarry End", 3),
    ("40180", "Outer Skerry", 4),
    ("40999", "Ferry Point", 4),
)


def categories(pictures: list[Value]) -> Rows:
    """Return the categories with their pictures."""
    return [
        (number, name, description, picture)
        for number, ((name, description), picture) in enumerate(zip(CATEGORIES, pictures, strict=True), 1)
    ]


def employees(photos: list[Value]) -> Rows:
    """Return the employees with their photos."""
    return [
        (
            *(number, last, first, title, courtesy, f"{born}T00:00:00Z", f"{2009 + number}-04-01T00:00:00Z"),
            *(f"{number} Harbour Street", city, None, f"{1000 + number}", country),
            *(f"555-01{number:02}", f"{300 + number}", photo, note, boss, None),
        )
        for number, ((last, first, title, courtesy, born, city, country, boss), note, photo) in enumerate(
            zip(EMPLOYEES, _NOTES, photos, strict=True), 1
        )
    ]


def suppliers(more: list[tuple[Value, ...]]) -> Rows:
    """Return the suppliers; ``more`` are the values from the home page on."""
    return [
        (
            number,
            company,
            contact,
            "Sales",
            street,
            city,
            None,
            code,
            country,
            f"555-02{number:02}",
            None,
            *rest,
        )
        for number, ((company, contact, street, city, code, country), rest) in enumerate(
            zip(_SUPPLIERS, more, strict=True), 1
        )
    ]


def customers() -> Rows:
    """Return the customers."""
    return [
        (key, company, contact, title, street, city, None, code, country, f"555-03{number:02}", None)
        for number, (key, company, contact, title, street, city, code, country) in enumerate(_CUSTOMERS, 1)
    ]


def products() -> Rows:
    """Return the products."""
    return [
        (number, name, supplier, category, per, price, stock, 0, 10, number == len(_PRODUCTS))
        for number, (name, supplier, category, per, price, stock) in enumerate(_PRODUCTS, 1)
    ]


def orders() -> Rows:
    """Return the orders: every customer's in turn, the last two not shipped yet."""
    found: Rows = []
    for number in range(1, 13):
        key, company, _, _, street, city, code, country = _CUSTOMERS[(number * 5) % len(_CUSTOMERS)]
        found.append(
            (
                *(number, key, number % len(EMPLOYEES) + 1, f"2025-{number:02}-03T00:00:00Z"),
                *(
                    f"2025-{number:02}-24T00:00:00Z",
                    f"2025-{number:02}-10T00:00:00Z" if number < 11 else None,
                ),
                *(number % 3 + 1, f"{number * 7 + 5}.2500", company, street, city, None, code, country),
            )
        )
    return found


def territories() -> Rows:
    """Return the territories."""
    return list(_TERRITORIES)


def employee_territories() -> Rows:
    """Return who looks after which territory: each employee one, the first four a second."""
    codes = [code for code, _, _ in _TERRITORIES]
    first: Rows = [(number, codes[number % len(codes)]) for number in range(1, len(EMPLOYEES) + 1)]
    return first + [(number, codes[(number + 4) % len(codes)]) for number in range(1, 5)]
