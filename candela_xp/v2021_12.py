"""The namespace of revision 2021.12 of the array API standard, behaving as that revision."""

from candela_xp._faces import build

build(__name__, "2021.12")
