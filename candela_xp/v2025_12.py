"""The namespace of revision 2025.12 of the array API standard: that of the package itself."""

from candela_xp._faces import build

build(__name__, "2025.12")
