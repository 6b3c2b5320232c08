"""The tables in these pages that follow from the code: ``python -m docs.tables`` writes them again.

A table stands between ``<!-- table: NAME -->`` and ``<!-- end of table -->``; the tests compare page and code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from candela_xp._audit._rules import measured, select, words
from candela_xp._dtypes import DTYPES, EXTENSIONS, PRACTICAL, PROMOTION, STANDARD, DType
from candela_xp._modes import CASES

HERE = Path(__file__).resolve().parent
BLOCK = re.compile(r"(<!-- table: ([a-z ]+) -->\n).*?(\n<!-- end of table -->)", re.DOTALL)
KINDS = {
    "bool": "boolean",
    "int": "signed integer",
    "uint": "unsigned integer",
    "float": "real floating-point",
    "complex": "complex floating-point",
}


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def modes() -> str:
    """Every case that the standard leaves open."""
    header = ["Case", "Default mode", "Strict mode: a TypeError that says"]
    return table(header, [[case.name, case.default, case.strict] for case in CASES.values()])


def dtypes() -> str:
    """Every dtype."""
    rows = [
        [f"`{d.name}`", KINDS[d.kind], str(d.bits), "no, an extension" if d.extension else "yes"]
        for d in DTYPES.values()
    ]
    return table(["Name", "Kind", "Bits", "In the standard"], rows)


def promotion(found: dict[tuple[DType, DType], DType], rows: Sequence[DType], columns: Sequence[DType]) -> str:
    """In which dtype a row's dtype combines with a column's; a dash where in none."""
    body = [[f"**{a}**", *(str(found.get((a, b), "-")) for b in columns)] for a in rows]
    return table(["", *(str(b) for b in columns)], body)


def _standard(*kinds: str) -> list[DType]:
    return [d for d in STANDARD if d.kind in kinds]


def _code(text: str) -> str:
    """Text as code in a cell."""
    return "`" + text.replace("`", "'").replace("|", "\\|") + "`"


def rules() -> str:
    """Every rule of the audit, under its own heading."""
    found = measured()
    versions = ", ".join(f"`{backend}` {version}" for backend, version in found.versions.items())
    parts, group = [f"Versions: {versions}."], ""
    certain = {row.rule.id: row.rule.certainty for row in select(tuple(found.versions), data=True)}
    for name, row in words().items():
        if row["group"] != group:
            group = row["group"]
            parts.append(f"## {group.capitalize()}")
        if name != name.lower():  # reports link to the name as it is, headings are linked in small letters
            parts.append(f'<a id="{name}"></a>')
        reference, outcomes = found.rows[name]["reference"], found.rows[name]["outcomes"]
        watched = ", ".join([*(f"`{each}`" for each in row["on"]), *(f"*{each}*" for each in row.get("when", []))])
        parts += [
            f"### {name}",
            f"`{row['call']}`",
            f"- The standard: {row['standard']}.\n"
            f"- Watched: {watched} ({certain[name]}).\n"
            f"- Here: {_code(reference)}.\n"
            f"- Write: {row['advice']}.",
            table(
                ["Backend", "Does", "Measured"],
                [[f"`{backend}`", effect, _code(detail)] for backend, (effect, detail) in outcomes.items()],
            ),
        ]
    return "\n\n".join(parts)


TABLES: dict[str, Callable[[], str]] = {
    "modes": modes,
    "dtypes": dtypes,
    "rules": rules,
    "integer promotion": lambda: promotion(PROMOTION, _standard("int", "uint"), _standard("int", "uint")),
    "floating promotion": lambda: promotion(PROMOTION, _standard("float", "complex"), _standard("float", "complex")),
    "practical promotion": lambda: promotion(PRACTICAL, _standard("bool", "int", "uint"), STANDARD),
    "narrow promotion": lambda: promotion(
        PROMOTION,
        [d for d in EXTENSIONS if d.bits >= 16],
        [*(d for d in EXTENSIONS if d.bits >= 16), *_standard("float", "complex")],
    ),
}


def renewed(page: str) -> str:
    """A page with its tables written again."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{TABLES[found[2]]()}\n{found[3]}", page)


def main() -> None:
    """Write the tables of every page again."""
    for path in sorted(HERE.rglob("*.md")):
        page = path.read_text(encoding="utf-8")
        if renewed(page) != page:
            path.write_text(renewed(page), encoding="utf-8")
            print(f"wrote {path}")


if __name__ == "__main__":
    main()
