"""The random recipe a second time, in plain Python, and how tests make stages."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Iterable
from decimal import Decimal, getcontext

import numpy as np

from cobre.core.horizon import Stage
from cobre.core.scenarios import AnnualComponent, InflowStatistics, LagCoefficients

getcontext().prec = 50
M64, M128 = 2**64 - 1, 2**128 - 1


def log(x: float) -> float:
    return float(Decimal(x).ln())


def exp(x: float) -> float:
    return float(Decimal(x).exp())


def _rotl(x: int, b: int) -> int:
    return ((x << b) | (x >> (64 - b))) & M64


def siphash13(message: bytes) -> int:
    v = [0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573]

    def rounds(n):
        for _ in range(n):
            v[0] = (v[0] + v[1]) & M64
            v[1] = _rotl(v[1], 13) ^ v[0]
            v[0] = _rotl(v[0], 32)
            v[2] = (v[2] + v[3]) & M64
            v[3] = _rotl(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & M64
            v[3] = _rotl(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & M64
            v[1] = _rotl(v[1], 17) ^ v[2]
            v[2] = _rotl(v[2], 32)

    padded = message + bytes(7 - len(message) % 8) + bytes([len(message) & 0xFF])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        v[3] ^= word
        rounds(1)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(3)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def hash_of(*fields: tuple[int, int]) -> int:
    return siphash13(b"".join(value.to_bytes(size, "little") for value, size in fields))


class Pcg64:
    multiplier = 0x2360ED051FC65DA44385DF649FCCF645

    def __init__(self, seed: int) -> None:
        words = []
        for _ in range(8):
            seed = (seed * 6364136223846793005 + 11634580027462260723) & M64
            x, r = (((seed >> 18) ^ seed) >> 27) & 0xFFFFFFFF, seed >> 59
            words.append(((x >> r) | (x << (32 - r))) & 0xFFFFFFFF)
        state = sum(word << (32 * i) for i, word in enumerate(words[:4]))
        self.increment = sum(word << (32 * i) for i, word in enumerate(words[4:])) | 1
        self.state = (state + self.increment) & M128
        self.step()

    def step(self) -> None:
        self.state = (self.state * self.multiplier + self.increment) & M128

    def next(self) -> int:
        self.step()
        x, r = (self.state >> 64) ^ (self.state & M64), self.state >> 122
        return ((x >> r) | (x << (64 - r))) & M64

    def uniform52(self) -> float:
        return (self.next() >> 12) / 2**52

    def uniform53(self) -> float:
        return (self.next() >> 11) / 2**53

    def open_uniform(self) -> float:
        return (2 * (self.next() >> 12) + 1) / 2**53

    def below(self, n: int) -> int:
        product = (self.next() & 0xFFFFFFFF) * n
        result, low = product >> 32, product & 0xFFFFFFFF
        if low > 2**32 - n:
            result += low + ((self.next() & 0xFFFFFFFF) * n >> 32) >= 2**32
        return result

    def normal(self) -> float:
        while True:
            bits = self.next()
            i, u = bits & 0xFF, (bits >> 12) / 2**51 - 1.0
            x = u * EDGES[i]
            if abs(x) < EDGES[i + 1]:
                return x
            if i == 0:
                while True:
                    a, b = log(self.open_uniform()) / R, log(self.open_uniform())
                    if -2.0 * b >= a * a:
                        return a - R if u < 0.0 else R - a
            if DENSITIES[i + 1] + (DENSITIES[i] - DENSITIES[i + 1]) * self.uniform53() < exp(-x * x / 2.0):
                return x


R, V = 3.654152885361008796, 0.00492867323399


def ziggurat() -> tuple[list[float], list[float]]:
    """Edges and densities: double arithmetic, rounded to 18 decimals at the end."""
    edges = [V / exp(-R * R / 2.0), R]
    while len(edges) < 256:
        edges.append(math.sqrt(-2.0 * log(V / edges[-1] + exp(-edges[-1] * edges[-1] / 2.0))))
    edges.append(0.0)
    densities = [exp(-x * x / 2.0) for x in edges]
    return [float(f"{x:.18f}") for x in edges], [float(f"{f:.18f}") for f in densities]


EDGES, DENSITIES = ziggurat()


def moro(p: float) -> float:
    a = [2.50662823884, -18.61500062529, 41.39119773534, -25.44106049637]
    b = [1.0, -8.47351093090, 23.08336743743, -21.06224101826, 3.13082909833]
    c = [0.3374754822726147, 0.9761690190917186, 0.1607979714918209, 0.0276438810333863, 0.0038405729373609]
    c += [0.0003951896511349, 0.0000321767881768, 0.0000002888167364, 0.0000003960315187]

    def horner(coefficients, x):
        total = coefficients[-1]
        for coefficient in coefficients[-2::-1]:
            total = total * x + coefficient
        return total

    p = min(max(p, 2.0**-1022), 1.0 - 2.0**-52)
    if p <= 1e-20:
        return -8.21
    y = p - 0.5
    if abs(y) < 0.42:
        return y * horner(a, y * y) / horner(b, y * y)
    z = horner(c, log(-log(min(p, 1.0 - p))))
    return z if y > 0 else -z


def saa(base: int, stage_id: int, rows: int, columns: int) -> np.ndarray:
    out = np.empty((rows, columns))
    for row in range(rows):
        generator = Pcg64(hash_of((base, 8), (row, 4), (stage_id, 4)))
        out[row] = [generator.normal() for _ in range(columns)]
    return out


def lhs_probabilities(base: int, stage_id: int, rows: int, columns: int) -> np.ndarray:
    generator = Pcg64(hash_of((base, 8), (stage_id, 4)))
    out = np.empty((rows, columns))
    for column in range(columns):
        samples = [(k + generator.uniform52()) / rows for k in range(rows)]
        places = shuffled(rows, generator)
        for k in range(rows):
            out[places[k], column] = samples[k]
    return out


def shuffled(n: int, generator: Pcg64) -> list[int]:
    items = list(range(n))
    for i in range(n - 1, 0, -1):
        j = generator.below(i + 1)
        items[i], items[j] = items[j], items[i]
    return items


def word(generator: Pcg64) -> int:
    return generator.next() & 0xFFFFFFFF


SOBOL_ROWS = [  # degree, inner coefficients and initial numbers of dimensions 2 to 8
    (1, 0, [1]),
    (2, 1, [1, 3]),
    (3, 1, [1, 3, 1]),
    (3, 2, [1, 1, 1]),
    (4, 1, [1, 1, 3, 3]),
    (4, 4, [1, 3, 5, 13]),
    (5, 2, [1, 1, 5, 5, 17]),
]


def directions(dimension: int) -> list[int]:
    """Direction numbers of a dimension, counted from 0."""
    if dimension == 0:
        return [1 << (31 - j) for j in range(32)]
    s, a, m = SOBOL_ROWS[dimension - 1]
    v = [m[j] << (31 - j) for j in range(s)]
    for j in range(s, 32):
        number = v[j - s] ^ (v[j - s] >> s)
        for k in range(1, s):
            number ^= ((a >> (s - 1 - k)) & 1) * v[j - k]
        v.append(number)
    return v


def sobol_number(dimension: int, point: int) -> int:
    number = 0
    for j, v in enumerate(directions(dimension)):
        number ^= v * (point >> j & 1)
    return number


def sobol_probability(factors: tuple[int, int], dimension: int, point: int) -> float:
    a, b = factors
    return (a * sobol_number(dimension, point) + b) % 2**32 / 2**32


def sobol_factors(generator: Pcg64, columns: int) -> list[tuple[int, int]]:
    return [(word(generator) | 1, word(generator)) for _ in range(columns)]


def matrix_scramble(generator: Pcg64) -> tuple[list[int], int]:
    """Rows of a unit lower-triangular bit matrix, the most significant bit first, and a shift."""
    rows = [(word(generator) >> (32 - r) << (32 - r)) | 1 << (31 - r) for r in range(32)]
    return rows, word(generator)


def matrix_probability(scramble: tuple[list[int], int], dimension: int, point: int) -> float:
    rows, shift = scramble
    number = sobol_number(dimension, point)
    product = sum((row & number).bit_count() % 2 << (31 - r) for r, row in enumerate(rows))
    return ((product ^ shift) + 0.5) / 2**32


def halton_probabilities(generator: Pcg64, points: int, columns: int) -> np.ndarray:
    out = np.empty((points, columns))
    for column, base in enumerate([2, 3, 5, 7, 11, 13, 17, 19][:columns]):
        digits = 1
        while base**digits < points:
            digits += 1
        tables = [shuffled(base, generator) for _ in range(digits)]
        for point in range(points):
            cell = 0
            for j in range(digits):
                cell = cell * base + tables[j][point // base**j % base]
            out[point, column] = (cell + 0.5) / base**digits
    return out


def stage(stage_id: int, start: str, end: str, season_id: int | None = None, **more) -> Stage:
    settings = {"n_openings": 1, **more}
    return Stage(
        stage_id,
        dt.date.fromisoformat(start),
        dt.date.fromisoformat(end),
        (),
        season_id=season_id,
        **settings,
    )


def consecutive_stages(days: str, seasons: Iterable[int]) -> list[Stage]:
    """Each from one of the days to the next."""
    places = zip(itertools.pairwise(days.split()), seasons, strict=True)
    return [stage(i, start, end, season) for i, ((start, end), season) in enumerate(places)]


def months(n: int, *, first: int = 0, year: int = 2024, **more) -> list[Stage]:
    """Whole months from January on, with the month as season."""
    starts = [f"{year + m // 12}-{m % 12 + 1:02}-01" for m in range(first, first + n + 1)]
    return [stage(i, starts[i], starts[i + 1], (first + i) % 12, **more) for i in range(n)]


def statistics(*rows: tuple[int, int, float, float]) -> InflowStatistics:
    """Rows of hydro, stage id, mean and deviation."""
    table = np.array(rows, dtype=float).reshape(-1, 4)
    return InflowStatistics(table[:, 0].astype(int), table[:, 1].astype(int), table[:, 2], table[:, 3])


def coefficients(*rows: tuple[int, int, int, float, float]) -> LagCoefficients:
    """Rows of hydro, stage id, lag, coefficient and ratio."""
    table = np.array(rows, dtype=float).reshape(-1, 5)
    return LagCoefficients(*(table[:, i].astype(int) for i in range(3)), table[:, 3], table[:, 4])


def annual(*rows: tuple[int, int, float, float, float]) -> AnnualComponent:
    """Rows of hydro, stage id, coefficient, mean and deviation."""
    table = np.array(rows, dtype=float).reshape(-1, 5)
    return AnnualComponent(
        table[:, 0].astype(int), table[:, 1].astype(int), table[:, 2], table[:, 3], table[:, 4]
    )
