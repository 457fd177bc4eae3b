"""What text is a server measured with? Text made from a seed, the same bytes on every machine, frozen by a hash.

It is plain English and Python made from word lists: drafting finds in it about what it finds in ordinary text, which it does not
in random tokens. Every document starts with a line of its own, so that no prefix cache serves one document from another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

VERSION = 1
FROZEN = "323bfe25c28c7a29"
"""The first 16 digits of the SHA-256 of `sample()`. A change of the text is a new VERSION: numbers do not compare across it."""


def _words(text: str, between: str = " ") -> list[str]:
    return text.split(between)


ADJECTIVES = _words(
    "amber broad brittle calm coarse copper crooked dark deep dusty even faded flat frozen gentle grey hollow humid iron "
    "light long loose narrow northern old pale patient plain quiet rough round rusted salted sharp short silver slow small "
    "smooth southern steep still stone tall thin timber upper warm western white wide wooden"
)
NOUNS = _words(
    "anchor archive barrel basin beacon bell bridge cabinet canal candle ceiling chart chimney clock coal compass corridor "
    "crane crate cupboard dial dock door drawer engine fence ferry furnace garden gate glass granary hammer harbour hinge "
    "kettle ladder lantern ledger lock loom mill mirror notebook orchard oven path pier pipe plank press pulley quarry rail "
    "reservoir ridge roof rope saddle sail scale shelf signal sluice spring stair stove table tank tower track tunnel valve "
    "vault wagon wall warehouse well wheel winch window workshop"
)
VERBS = _words(
    "carries changes closes collects covers crosses divides empties faces feeds fills follows guards heats holds hides joins "
    "keeps lifts lowers marks measures meets moves opens passes points powers pulls reaches records replaces shades shelters "
    "shows stores supports touches turns warms weighs"
)
ADVERBS = _words(
    "again always barely early evenly gently hardly late never often once quickly rarely slowly soon steadily twice"
)
PLACES = _words(
    "at the foot of the hill|before the first frost|behind the second gate|below the waterline|beside the northern wall|"
    "between two floods|close to the market|during the night shift|for most of the winter|in the lower yard|near the old ferry|"
    "on the third floor|outside the workshop|over the eastern channel|under the long roof|until the tide turns|with the lamps out",
    "|",
)


class Dice:
    """A stream of numbers from a seed: SHA-256 in counter mode, so that no library's generator has a say."""

    def __init__(self, *seed: object) -> None:
        """Take whatever the numbers are to depend on."""
        self._seed = repr(seed).encode()
        self._count = 0
        self._pool: list[int] = []

    def below(self, limit: int) -> int:
        """Return a number from 0 to limit - 1; limits are far below 2**32, so that the bias does not matter."""
        if not self._pool:
            block = hashlib.sha256(self._seed + self._count.to_bytes(8, "big")).digest()
            self._pool = [int.from_bytes(block[at : at + 4], "big") for at in range(0, 32, 4)]
            self._count += 1
        return self._pool.pop() % limit

    def one(self, of: Sequence[str]) -> str:
        """Return one of the words."""
        return of[self.below(len(of))]


def sentence(dice: Dice) -> str:
    """Return one English sentence."""
    first = f"the {dice.one(ADJECTIVES)} {dice.one(NOUNS)}"
    second = (
        f"the {dice.one(NOUNS)}" if dice.below(3) else f"{2 + dice.below(97)} {dice.one(ADJECTIVES)} {dice.one(NOUNS)}s"
    )
    middle = f" {dice.one(ADVERBS)}" if dice.below(4) == 0 else ""
    place = f" {dice.one(PLACES)}" if dice.below(2) else ""
    said = f"{first}{middle} {dice.one(VERBS)} {second}{place}."
    return said[0].upper() + said[1:]


def lines(seed: object, kind: str = "prose") -> Iterator[str]:
    """Yield the numbered lines of a document, without end. The first names the seed, so that documents differ from there on.

    Args:
        seed: what the text depends on.
        kind: "prose" or "code".
    """
    dice = Dice(VERSION, kind, seed)
    number = hashlib.sha256(repr((kind, seed)).encode()).hexdigest()[:12]
    yield f"# {number}: {'a module' if kind == 'code' else 'a description of a place'}"
    count = 0
    while True:
        count += 1
        if kind == "prose":
            yield f"{count}. {sentence(dice)}"
        else:
            yield from _function(dice, count)


def _function(dice: Dice, count: int) -> Iterator[str]:
    """Yield the lines of one Python function."""
    noun, verb = dice.one(NOUNS), dice.one(VERBS)[:-1]
    first, second = dice.one(NOUNS), dice.one(ADJECTIVES)
    yield f"def {verb}_{noun}_{count}({first}: int, {second}: int) -> int:"
    yield f'    """{sentence(dice)}"""'
    yield f"    total = {first} * {1 + dice.below(90)} + {second}"
    yield f"    if total > {100 + dice.below(900)}:"
    yield f"        total -= {second} // {2 + dice.below(9)}"
    yield "    return total"


def document(seed: object, count: int, kind: str = "prose") -> list[str]:
    """Return the first `count` lines of a document."""
    found = lines(seed, kind)
    return [next(found) for _ in range(count)]


def sample() -> str:
    """Return the text whose hash freezes the corpus."""
    return "\n".join(document(0, 500) + document(0, 500, "code"))


def fingerprint() -> str:
    """Return version and hash of the corpus, as conditions of a measurement name it."""
    return f"v{VERSION}:{digest(sample())}"


def digest(text: str) -> str:
    """Return the first 16 digits of a text's SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
