"""How to compute a product of matrices, as plain data: from the layouts of the operands, and from sizes of integers.

BLAS reads a matrix in place where one of its two strides is 1 and the other at least the length of that axis
(`Layout.core_is_packed`). What else to do with an operand, and with a stack of products, `choose` says:

1. An axis that is walked backwards may be turned round: the terms in both operands at once, which only changes the
   order of the sum, or rows or columns, which come out turned. Worth it where less is copied so.
2. What BLAS still can't read is packed, once and not a matrix at a time. But NumPy, which would copy each matrix before
   it is multiplied, does so in the cache where they are small and read once; and a product with a vector takes
   less time as dot products, for which BLAS reads stepped operands, than the copy would.
3. Products with one right side for the whole stack are one product, where the rows of the left follow each other in
   memory across the stack.
4. Products too small for BLAS's own threads are shared out among ours, unless they are tiny.

`parts` says how to cut integers so that float64 holds every sum of their products exactly.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import prod
from typing import Literal, NamedTuple

from candela_xp._layout import Layout, broadcast_shapes

# OpenBLAS stays in one thread up to so many multiplications (its interface/gemm.c: 65536 * 4).
ONE_THREAD = 2**18
# Each call of OpenBLAS takes a lock, which costs two threads more than they gain where calls are short. Stacks of
# 4×4, 8×8, 16×16 and 64×64, two threads against one: 1 to 3, 1.8, 0.57 and 0.53 times as long.
SHORTEST = 2**12
# A second thread costs some 10 µs: a tenth of what so many multiplications take.
_WORTH_THREADS = 2**20
# Elements of a matrix from which it is packed. (10000, 4, 4), one factor walked backwards, one thread: 60 µs more than
# in rows when NumPy copies, 200 when it is packed before.
_WORTH_PACKING = 2**12

Batches = Literal["kernel", "folded", "threads"]


class Choice(NamedTuple):
    """What to do with two stacks of matrices.

    Attributes
    ----------
    turn_terms
        Walk the contracted axis from its end, in both.
    turn_rows, turn_columns
        Walk the rows of the left, the columns of the right, from their end; the result is turned back by a copy.
    pack_left, pack_right
        Copy to dense memory, in the order of the axes that is nearer to the operand's own.
    dots
        Compute each element of a product with a vector as a dot product of its own.
    batches
        ``folded`` into one product, shared among ``threads`` along the longest axis of the result, or left to the
        ``kernel``.
    """

    turn_terms: bool = False
    turn_rows: bool = False
    turn_columns: bool = False
    pack_left: bool = False
    pack_right: bool = False
    dots: bool = False
    batches: Batches = "kernel"


AS_THEY_ARE = Choice()


def turned(layout: Layout, *, rows: bool = False, columns: bool = False) -> Layout:
    """The strides of a stack of matrices with core axes walked from their end; the offset is left alone."""
    *stack, row, column = layout.stride
    return Layout(layout.shape, (*stack, -row if rows else row, -column if columns else column), layout.offset)


@lru_cache(maxsize=256)  # programs multiply the same layouts again and again
def choose(left: Layout, right: Layout, threads: int) -> Choice:
    """Choose for operands of shapes ``(…, m, k)`` and ``(…, k, n)`` whose stacks broadcast; nothing is empty.

    Parameters
    ----------
    left, right
        Layouts; the offset doesn't matter. Repetitions of a matrix in a stack are left out: such axes have length 1.
    threads
        How many threads one computation may use.
    """
    (rows, terms), columns = left.shape[-2:], right.shape[-1]
    stack = broadcast_shapes((left.shape[:-2], right.shape[:-2])) or ()
    batches = prod(stack)

    def options(*steps: int) -> tuple[bool, ...]:
        return (False, True) if any(step < 0 for step in steps) else (False,)

    # The first of the least: nothing is turned without a gain.
    best: tuple[int, Choice] | None = None
    for turns in product(
        options(left.stride[-1], right.stride[-2]), options(left.stride[-2]), options(right.stride[-1])
    ):
        turn_terms, turn_rows, turn_columns = turns
        pack_left = not turned(left, rows=turn_rows, columns=turn_terms).core_is_packed()
        pack_right = not turned(right, rows=turn_terms, columns=turn_columns).core_is_packed()
        copied = left.len * pack_left + right.len * pack_right
        copied += batches * rows * columns * (turn_rows or turn_columns)
        if best is None or copied < best[0]:
            best = copied, Choice(*turns, pack_left, pack_right)
    assert best is not None, "there is one option at least"
    choice = best[1]
    multiplications = rows * terms * columns
    if (choice.pack_left and columns == 1) or (choice.pack_right and rows == 1):
        # In one thread: memory is what it waits for. Of 1000, 2000 and 4000 rows of as many, float64, float32 and both
        # complex dtypes, two threads took 1.01 to 1.08 times as long.
        return Choice(dots=True)
    if batches > 1 and prod(right.shape[:-2]) == 1 and left.shape[:-2] == stack and folded(choice, left) is not None:
        return choice._replace(batches="folded")
    choice = choice._replace(
        pack_left=choice.pack_left and not (rows > 1 and _read_once_in_cache(left, batches)),
        pack_right=choice.pack_right and not (columns > 1 and _read_once_in_cache(right, batches)),
    )
    alone = SHORTEST <= multiplications <= ONE_THREAD
    if threads > 1 and batches > 1 and alone and batches * multiplications >= _WORTH_THREADS:
        return choice._replace(batches="threads")
    return choice


def lies_across(layout: Layout) -> bool:
    """Whether another axis is nearer in memory than the last one."""
    *others, (extent, last) = zip(layout.shape, layout.stride)
    return extent > 1 and any(length > 1 and 0 < abs(step) < abs(last) for length, step in others)


def _read_once_in_cache(layout: Layout, batches: int) -> bool:
    """Whether each matrix of a stack is small, and used for one product only."""
    return prod(layout.shape[-2:]) < _WORTH_PACKING and prod(layout.shape[:-2]) == batches > 1


def folded(choice: Choice, left: Layout) -> Layout | None:
    """All rows of a stack as one matrix that BLAS can read, or None; the offset doesn't matter."""
    if choice.turn_rows:
        return None
    left = packed(left) if choice.pack_left else turned(left, columns=choice.turn_terms)
    merged = left.reshape((prod(left.shape[:-1]), left.shape[-1]))
    return merged if merged is not None and merged.core_is_packed() else None


def packed(layout: Layout) -> Layout:
    """The dense layout that a packed operand gets: rows or columns, whatever is nearer to its own order."""
    order = list(range(layout.ndim))
    row, column = abs(layout.stride[-2]), abs(layout.stride[-1])
    if layout.shape[-2] > 1 and layout.shape[-1] > 1 and 0 < row < column:
        order[-2:] = order[-1], order[-2]
    return Layout.in_order(layout.shape, order)


# -- integers ----------------------------------------------------------------------------------------

# Floats hold every integer up to these.
EXACT = {"float32": 2**24, "float64": 2**53}


class Parts(NamedTuple):
    """How integers are cut: each is the sum of ``digit[i] * 2**(width * i)`` modulo 2 to the bits of the dtype.

    Attributes
    ----------
    dtype
        The float in which the digits are multiplied.
    left, right
        Width (bits) and count of the digits of each operand; one digit is the number itself.
    products
        The pairs of digits that matter, with the bits by which their product is shifted.
    """

    dtype: str
    left: tuple[int, int]
    right: tuple[int, int]
    products: tuple[tuple[int, int, int], ...]


def _digits(bits: int, size: int, count: int) -> tuple[int, int]:
    """Width of the digits of integers of at most this size, and the size of the greatest digit."""
    if count == 1:
        return bits, size
    # Digits are balanced, from -2**(width - 1) on; the last is what is left, rounded.
    width = -(-min(bits, size.bit_length() + 1) // count)
    return width, max(2 ** (width - 1), (size >> width * (count - 1)) + 1)


@lru_cache(maxsize=256)
def parts(bits: int, terms: int, left: int, right: int) -> Parts:
    """The fewest products of digits that float arithmetic computes exactly.

    Parameters
    ----------
    bits
        Bits of the dtype: results are modulo ``2**bits``.
    terms
        How many products are summed.
    left, right
        The greatest magnitudes of the operands, as signed integers.
    """
    bound = terms * left * right
    for dtype, exact in EXACT.items():
        if bound <= exact:
            return Parts(dtype, (bits, 1), (bits, 1), ((0, 0, 0),))
    found: list[tuple[int, int, Parts]] = []
    for counts in product(range(1, 9), repeat=2):
        (wide, most), (width, greatest) = (_digits(bits, *each) for each in zip((left, right), counts))
        if wide < 2 or width < 2 or terms * most * greatest > EXACT["float64"]:
            continue
        pairs = tuple(
            (i, j, i * wide + j * width)
            for i, j in product(range(counts[0]), range(counts[1]))
            if i * wide + j * width < bits
        )
        found.append((len(pairs), sum(counts), Parts("float64", (wide, counts[0]), (width, counts[1]), pairs)))
    # 8 bits each would do for 2**39 terms, which no memory holds.
    return min(found)[2]
