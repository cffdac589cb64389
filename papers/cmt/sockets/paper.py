"""Tables 1 and 2 and figure 2 of the paper, and the parameters of their runs."""

from dataclasses import dataclass

KB = 1024
FILE = 23_887 * KB
"""bytes: time times rate in every row of both tables ("23.3 megabytes")"""
MBPS = 1 << 20
"""bit/s of the tables' Mbps: 8 KBps / 1024 gives the figure in every row"""

TABLE_1_S = {8192: 84.750, 32768: 30.422, 65536: 26.719, 524288: 28.641, 1048576: 47.172}
"""transfer time by bytes of the socket buffer, over one connection"""
TABLE_2_S = {
    1: 77.328, 2: 45.594, 3: 32.188, 4: 26.125, 5: 22.469, 6: 19.094, 7: 17.219, 8: 15.844, 9: 14.407,
}  # fmt: skip
"""transfer time by number of connections with the small buffer"""
BUFFERS = tuple(TABLE_1_S)
SMALL, MIDDLE, BEST = 8192, 32768, 65536
"""the buffers of Table 2 and of figure 2, and the best one of Table 1"""
SMALL_S = (TABLE_1_S[SMALL] + TABLE_2_S[1]) / 2
"""one connection with the small buffer was measured twice, 10 % apart"""
THREE = 3
THREE_S = FILE * 8 / (15.5 * MBPS)
"""time of three connections with the middle buffer, which have 15.5 Mbps by the text"""
UNTUNED = 7.0
"""ratio of the untuned time to that one"""
MOST = 20
"""most connections in figure 2, of which the text calls 8 to 13 the best"""
BEST_FROM, BEST_TO = 8, 13

SEEDS, QUICK_SEEDS = 11, 3
"""the paper ran each combination eleven times"""
CONNECTIONS, QUICK_CONNECTIONS = tuple(TABLE_2_S), (1, 3, 6, 9)
UP_TO_MOST, QUICK_UP_TO_MOST = tuple(range(1, MOST + 1)), (1, 3, 5, 8, 13, 20)


@dataclass(frozen=True)
class Case:
    """The file over so many connections, each with such a receive buffer."""

    buffer: int
    connections: int = 1
    queue: int | None = None
    """packets at the narrowest link, which the paper does not tell; None: the bandwidth-delay product"""


@dataclass(frozen=True)
class Run:
    """One simulation."""

    case: Case
    seed: int
