"""Variants of words: case, accents, hyphens, possessives, plurals, and British and American spelling."""

import re
import unicodedata
from functools import lru_cache

CACHED_WORDS = 1 << 16  # the keys of a word take 20 microseconds, and similar queries have hits in common
NOT_PLURALS = frozenset({"news", "lens"})

SEPARATORS = re.compile(r"['\u2019]s$|[\s_'\u2018\u2019\u2010-\u2015-]+|[\u0300-\u036f]")  # and accents
# The lookbehinds leave short words unchanged, such as "hour", "wise" and "here".
SPELLINGS = tuple(
    (re.compile(british), american)
    for british, american in (
        (r"([aeiou][^aeiou]+i?)our", r"\1or"),  # colour, behavioural
        (r"(?<=[a-z]{3})is(?=e|ing|at)", "iz"),  # organise, organisation
        (r"(?<=[a-z])ys(?=e|ing)", "yz"),  # analyse
        (r"(?<=[a-z]{2}[bgt])re$", "er"),  # centre, fibre
        (r"(?<=[a-z]{2})ogue$", "og"),  # catalogue
        (r"(?<=[a-z]{2})ence$", "ense"),  # defence
        (r"([aeiouy][^aeiouy]+[aeiouy]+)ll+", r"\1l"),  # travelling
        (r"grey", "gray"),
    )
)
PLURALS = (  # a word has a key for each singular that it may have: cookies, cities; caches, matches
    (re.compile(r"(?<=[a-z]{2}[a-hj-rtv-z])s$"), ""),  # but not glass, virus, crisis
    (re.compile(r"(?<=[a-z]{2})ies$"), "y"),
    (re.compile(r"(?<=[a-z](?:ch|sh|[a-z][osxz]))es$"), ""),
)


@lru_cache(CACHED_WORDS)
def variant_keys(word: str) -> frozenset[str]:
    """Return the normal form of a word and, if it may be a plural, those of its singulars; variants share one.

    >>> sorted(variant_keys("Colours")), sorted(variant_keys("color"))
    (['color', 'colors'], ['color'])
    >>> variant_keys("bus") & variant_keys("bu")
    frozenset()
    """
    folded = SEPARATORS.sub("", unicodedata.normalize("NFKD", word).casefold()) or word
    singulars = [ending.sub(singular, folded) for ending, singular in PLURALS if folded not in NOT_PLURALS]
    return frozenset(map(_americanise, [folded, *singulars]))


def _americanise(word: str) -> str:
    changed = word
    for british, american in SPELLINGS:
        changed = british.sub(american, changed)
    return word if changed == word else _americanise(changed)
