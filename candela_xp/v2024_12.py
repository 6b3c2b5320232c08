"""The namespace of revision 2024.12 of the array API standard, behaving as that revision."""

from candela_xp._faces import build

build(__name__, "2024.12")
