"""Water of a grid is connected where that of its relief is: isthmuses narrower than a cell close, straits open."""

import numpy as np
import pytest

from swmodel.files.relief.coast import label
from swmodel.files.relief.straits import connected

#: Two seas with an isthmus across the middle cells; four places along each side of a cell.
ISTHMUS = """
~~~~ ~~~~ ~~~~
~~~~ ~~~~ ~~~~
~~~~ ~~~~ ~~~~
~~~~ ~~~~ ~~~.

~~~~ ~~~~ ~~..
~~~~ ~~.. ....
~~~~ .... ~~~~
~... ...~ ~~~~

.... ~~~~ ~~~~
~~~~ ~~~~ ~~~~
~~~~ ~~~~ ~~~~
~~~~ ~~~~ ~~~~
"""

#: Two seas with a strait through a cell of land.
STRAIT = """
~~~~ .... ~~~~
~~~~ .... ~~~~
~~~~ ~~~~ ~~~~
~~~~ .... ~~~~

~~~~ .... ~~~~
~~~~ .... ~~~~
~~~~ .... ~~~~
~~~~ .... ~~~~
"""


def places_of(text):
    rows = [row.split() for row in text.split("\n") if row]
    places = np.array([[[letter == "~" for letter in cell] for cell in row] for row in rows])
    return places.reshape(len(rows) // 4, 4, len(rows[0]), 4)


def made(text, ring=False, turned=False):
    places = places_of(text)
    if turned:
        places = places.transpose(2, 3, 0, 1)
    share = places.mean(axis=(1, 3))
    return share >= 0.5, *connected(share >= 0.5, share, places, ring)


@pytest.mark.fault("straits and isthmuses of a relief differ from those of its grid")
@pytest.mark.parametrize("turned", [False, True])
def test_an_isthmus_narrower_than_a_cell_parts_the_seas(turned):
    before, after, isthmus = made(ISTHMUS, turned=turned)
    assert label(before, False).max() == 1
    assert label(after, False).max() == 2
    assert isthmus.sum() == (before & ~after).sum() > 0


@pytest.mark.parametrize("turned", [False, True])
def test_a_strait_narrower_than_a_cell_connects_them(turned):
    before, after, _ = made(STRAIT, turned=turned)
    assert label(before, False).max() == 2
    assert label(after, False).max() == 1
    assert (after & ~before).sum() == 1


def test_a_dam_across_the_strait_keeps_it_closed():
    before, after, _ = made(STRAIT.replace("~~~~ ~~~~ ~~~~", "~~~~ ~~.~ ~~~~"))
    assert (after == before).all()


def test_an_island_that_one_can_go_round_closes_nothing():
    island = "\n\n".join(["\n".join(["~~~~ ~~~~ ~~~~"] * 4)] * 3).replace("~~~~ ~~~~ ~~~~", "~~~~ ~~~. .~~~", 4)
    before, after, _ = made(island)
    assert before.all()
    assert after.all()
