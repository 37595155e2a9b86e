"""Make the sample archives Northwind.siard and Northwind-full.siard from nothing, always the same bytes.

Run ``python samples/make_northwind.py [FOLDER]``; without a folder they go to ``samples/northwind``.

``Northwind.siard`` is the example of the DILCIS recommendation on external LOBs (0.28 §5.2): thirteen
tables, of which Categories has eight pictures of the sizes given there. ``Northwind-full.siard`` adds
what else LOBs do: photos, texts beyond ASCII, an empty LOB, LOBs inside structured types and arrays.
"""

from __future__ import annotations

import sys
from pathlib import Path

import northwind_rows as rows
from goods import category_pictures
from people import employee_photos, seal
from siard_archive import archive
from siard_model import File, Schema, Table, Type, Value, columns

_SUPPLIER = """
    SupplierID INTEGER NOT NULL
    CompanyName VARCHAR(40) NOT NULL
    ContactName VARCHAR(30)
    ContactTitle VARCHAR(30)
    Address VARCHAR(60)
    City VARCHAR(15)
    Region VARCHAR(15)
    PostalCode VARCHAR(10)
    Country VARCHAR(15)
    Phone VARCHAR(24)
    Fax VARCHAR(24)
    HomePage CLOB"""

_SUPPLIER_FULL = """ AS text/plain
    Contract ContractType
    Letters CLOB ARRAY[3] AS text/plain"""

_TYPES = (
    Type(name="AnnexType", attributes=columns("Title VARCHAR(60)\n Body CLOB AS text/plain")),
    Type(
        name="ContractType",
        attributes=columns(
            "SignedOn DATE\n Seal BLOB AS image/png\n Terms CLOB AS text/plain\n Annex AnnexType"
        ),
    ),
)


def _selling(people: list[Value], pictures: list[Value]) -> tuple[Table, ...]:
    """Return tables 0 to 7 in the recommendation's order and spelling."""
    return (
        Table(
            name="Orders",
            description="What was ordered, by whom, and how it went out",
            columns=columns("""
                OrderID INTEGER NOT NULL
                CustomerID CHARACTER(5) REFERENCES Customers
                EmployeeID INTEGER REFERENCES Employees
                OrderDate TIMESTAMP
                RequiredDate TIMESTAMP
                ShippedDate TIMESTAMP
                ShipVia INTEGER REFERENCES Shippers
                Freight DECIMAL(19,4)
                ShipName VARCHAR(40)
                ShipAddress VARCHAR(60)
                ShipCity VARCHAR(15)
                ShipRegion VARCHAR(15)
                ShipPostalCode VARCHAR(10)
                ShipCountry VARCHAR(15)"""),
            key=("OrderID",),
            rows=rows.orders(),
        ),
        Table(
            name="Products",
            description="The goods, their makers and prices",
            columns=columns("""
                ProductID INTEGER NOT NULL
                ProductName VARCHAR(40) NOT NULL
                SupplierID INTEGER REFERENCES Suppliers
                CategoryID INTEGER REFERENCES Categories
                QuantityPerUnit VARCHAR(20)
                UnitPrice DECIMAL(19,4)
                UnitsInStock SMALLINT
                UnitsOnOrder SMALLINT
                ReorderLevel SMALLINT
                Discontinued BOOLEAN NOT NULL"""),
            key=("ProductID",),
            rows=rows.products(),
        ),
        Table(
            name="Categories",
            description="Kinds of goods, each with a picture",
            columns=columns("""
                CategoryID INTEGER NOT NULL
                CategoryName VARCHAR(15) NOT NULL
                Description CLOB
                Picture BLOB AS image/png"""),
            key=("CategoryID",),
            rows=rows.categories(pictures),
        ),
        Table(
            name="Shippers",
            description="Who carries the goods",
            columns=columns("""
                ShipperID INTEGER NOT NULL
                CompanyName VARCHAR(40) NOT NULL
                Phone VARCHAR(24)"""),
            key=("ShipperID",),
            rows=[
                (1, "Tide & Rail", "555-0401"),
                (2, "Grey Goose Couriers", "555-0402"),
                (3, "Ferrymen's Guild", None),
            ],
        ),
        Table(
            name="Employees",
            description="The people of the house",
            columns=columns("""
                EmployeeID INTEGER NOT NULL
                LastName VARCHAR(20) NOT NULL
                FirstName VARCHAR(10) NOT NULL
                Title VARCHAR(30)
                TitleOfCourtesy VARCHAR(25)
                BirthDate TIMESTAMP
                HireDate TIMESTAMP
                Address VARCHAR(60)
                City VARCHAR(15)
                Region VARCHAR(15)
                PostalCode VARCHAR(10)
                Country VARCHAR(15)
                HomePhone VARCHAR(24)
                Extension VARCHAR(4)
                Photo BLOB AS image/png
                Notes CLOB
                ReportsTo INTEGER REFERENCES Employees
                PhotoPath VARCHAR(255)"""),
            key=("EmployeeID",),
            rows=rows.employees(people),
        ),
        Table(
            name="Territories",
            description="Districts that somebody looks after",
            columns=columns("""
                TerritoryID VARCHAR(20) NOT NULL
                TerritoryDescription CHARACTER(50) NOT NULL
                RegionID INTEGER NOT NULL REFERENCES Region"""),
            key=("TerritoryID",),
            rows=rows.territories(),
        ),
        Table(
            name="CustomerDemographics",
            description="Kinds of customers",
            columns=columns("""
                CustomerTypeID CHARACTER(10) NOT NULL
                CustomerDesc CLOB"""),
            key=("CustomerTypeID",),
            rows=[("INN", "Inns and restaurants"), ("SHOP", "Shops, from stall to store"), ("OTHER", None)],
        ),
        Table(
            name="CustomerCostumerDemo",
            description="Which customer is of which kind",
            columns=columns("""
                CustomerID CHARACTER(5) NOT NULL REFERENCES Customers
                CustomerTypeID CHARACTER(10) NOT NULL REFERENCES CustomerDemographics"""),
            key=("CustomerID", "CustomerTypeID"),
            rows=[("BLAUE", "INN"), ("CHOUX", "INN"), ("CHOUX", "SHOP"), ("PINEH", "SHOP")],
        ),
    )


def _buying(supplier_columns: str, more: list[tuple[Value, ...]]) -> tuple[Table, ...]:
    """Return tables 8 to 12."""
    return (
        Table(
            name="Suppliers",
            description="Where the goods come from",
            columns=columns(supplier_columns),
            key=("SupplierID",),
            rows=rows.suppliers(more),
        ),
        Table(
            name="EmployeeTerritories",
            description="Who looks after which district",
            columns=columns("""
                EmployeeID INTEGER NOT NULL REFERENCES Employees
                TerritoryID VARCHAR(20) NOT NULL REFERENCES Territories"""),
            key=("EmployeeID", "TerritoryID"),
            rows=rows.employee_territories(),
        ),
        Table(
            name="Customers",
            description="Who buys",
            columns=columns("""
                CustomerID CHARACTER(5) NOT NULL
                CompanyName VARCHAR(40) NOT NULL
                ContactName VARCHAR(30)
                ContactTitle VARCHAR(30)
                Address VARCHAR(60)
                City VARCHAR(15)
                Region VARCHAR(15)
                PostalCode VARCHAR(10)
                Country VARCHAR(15)
                Phone VARCHAR(24)
                Fax VARCHAR(24)"""),
            key=("CustomerID",),
            rows=rows.customers(),
        ),
        Table(
            name="Sysdiagrams",
            description="Drawings of the database, as its product keeps them",
            columns=columns("""
                name VARCHAR(128) NOT NULL
                principal_id INTEGER NOT NULL
                diagram_id INTEGER NOT NULL
                version INTEGER
                definition BLOB"""),
            key=("diagram_id",),
            rows=[("Overview", 1, 1, 1, b"\x01boxes and arrows\x00")],
        ),
        Table(
            name="Region",
            description="Where the districts lie",
            columns=columns("""
                RegionID INTEGER NOT NULL
                RegionDescription CHARACTER(50) NOT NULL"""),
            key=("RegionID",),
            rows=[(1, "Coast"), (2, "Plains"), (3, "Hills"), (4, "Islands")],
        ),
    )


def _txt(content: str) -> File:
    return File(content=content, extension="txt")


def _contract(number: int) -> Value:
    """Return a supplier's contract as a structured value: date, seal, terms, annex."""
    terms = (
        f"Contract No. {number}\n§ 1 Delivery within {7 * number} days.\n§ 2 Prices in €, no café included.\n"
    )
    annex: Value = None
    if number % 2:
        annex = ("u", f"Annex to No. {number}", _txt(f"📎 {number}: samples were tasted & approved. 👍\n"))
    colour = (0xA22, 0x262, 0x25A)[number % 3]
    stamped: Value = File(
        content=seal(colour, f"Seal of contract {number}", 4_000 + 111 * number), extension="png"
    )
    return ("u", f"2024-0{number}-15Z", stamped, _txt(terms), annex)


def _letters(number: int) -> Value:
    """Return a supplier's letters as an array: at most three, the second may be missing."""
    letters: tuple[Value, ...] = (
        _txt(f"Dear friends,\ndelivery No. {number} was perfect. 🍏\nYours, Northwind\n"),
        _txt(f"Ahoj, děkujeme za zásilku č. {number} a těšíme se na příště!\n") if number % 2 else None,
        _txt(f"Ευχαριστούμε πολύ ({number}). 𝄞\n"),
    )
    return ("a", *letters)


def _archives() -> dict[str, bytes]:
    """Return the archives' bytes by file name."""
    pictures: list[Value] = [File(content=picture, extension="bin") for picture in category_pictures()]
    photos: list[Value] = [File(content=photo, extension="bin") for photo in employee_photos()]
    plain = Schema(
        name="dbo",
        types=(),
        tables=_selling([None] * len(photos), pictures)
        + _buying(_SUPPLIER, [(page,) for page in (None, "moulin-gris.example", None, None, None, None)]),
    )
    more: list[tuple[Value, ...]] = []
    for number, page in enumerate(rows.HOME_PAGES, 1):
        signed = number < len(rows.HOME_PAGES)
        more.append(
            (
                None if page is None else _txt(page),
                _contract(number) if signed else None,
                _letters(number) if signed and number != 2 else None,
            )
        )
    full = Schema(
        name="dbo",
        types=_TYPES,
        tables=_selling(photos, pictures) + _buying(_SUPPLIER + _SUPPLIER_FULL, more),
    )
    return {
        "Northwind.siard": archive("Northwind", plain),
        "Northwind-full.siard": archive("Northwind", full),
    }


def main(folder: Path) -> None:
    """Write both archives into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in _archives().items():
        (folder / name).write_bytes(data)
        print(f"{folder / name}: {len(data):,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "northwind")
