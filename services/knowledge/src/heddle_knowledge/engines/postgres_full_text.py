"""Search by words in PostgreSQL: BM25, computed over what the index of words finds.

PostgreSQL itself ranks by `ts_rank_cd`, which knows nothing of how rare a word is. So the formula
is written out: k1 1.2, b 0.75, and the logarithm for rarity that Lucene and LanceDB use. It differs
from LanceDB's in four things. How rare a word is, is counted among the rows that the condition
lets through. The length of a passage is that in different words. A word counts at most eight times.
And PostgreSQL's own parser decides what a word is, and where pairs of characters are
words, Latin ones stay whole; both engines cut words to their stems alike.
"""

from collections.abc import Sequence

from heddle_knowledge.engines.interface import SCORE
from heddle_knowledge.engines.languages import IN_PAIRS, STEMMED, UNSPACED

WORDS = "_words"
"""The column that is made of the text that is searched by words."""
_MOST_WORDS = 32
_MOST_TIMES = 8
# `ts_rank` of a single word that stands n times is 0.1 / 1.6449... times the sum of 1 / j ** 2 for
# j from 1 to n: from the rank, the number of times is found again.
_STEP = 0.1 / 1.64493406685
_TIMES = [_STEP * sum(1 / j**2 for j in range(1, n + 1)) for n in range(1, _MOST_TIMES + 1)]
_BOUNDS = ", ".join(f"{times - _STEP / 200:.9f}" for times in _TIMES)


def parsed(text: str, language: str) -> str:
    """Write what makes words of a text, an expression of SQL."""
    if language not in IN_PAIRS:
        return f"to_tsvector('{STEMMED.get(language, 'simple')}', {text})"
    pairs = rf"'([{UNSPACED}]{{2}})', ' \1 ', 'g'"
    one_on = f"regexp_replace({text}, '(?<![{UNSPACED}])[{UNSPACED}]|[^{UNSPACED}]+', ' ', 'g')"
    both = f"regexp_replace({text}, {pairs}) || ' ' || regexp_replace({one_on}, {pairs})"
    return f"to_tsvector('simple', {both})"


def words_sql(name: str, language: str, columns: Sequence[str], chosen: str, limit: str) -> str:
    """Write the search. Its first parameter is the question, `limit` stands for another one.

    Args:
        name: The table.
        language: What its words are cut as.
        columns: What is read of each row.
        chosen: The condition on rows.
        limit: The parameter that says how many rows.
    """
    selection = ", ".join(f"t.{column}" for column in columns)
    return f"""
WITH asked AS MATERIALIZED (
  SELECT word, quote_literal(word)::tsquery AS query
  FROM unnest(tsvector_to_array({parsed("$1::text", language)})) AS word LIMIT {_MOST_WORDS}
), found AS MATERIALIZED (
  SELECT _rowid, {WORDS}, greatest(length({WORDS}), 1) AS size FROM {name}
  WHERE {WORDS} @@ (SELECT string_agg(quote_literal(word), ' | ')::tsquery FROM asked)
    AND {chosen}
), everything AS MATERIALIZED (
  SELECT avg(size) AS size,
    greatest((SELECT reltuples FROM pg_class WHERE oid = '{name}'::regclass), count(*)) AS rows
  FROM found
), times AS MATERIALIZED (
  SELECT _rowid, size, word,
    width_bucket(ts_rank({WORDS}, query)::float8, ARRAY[{_BOUNDS}]::float8[]) AS n
  FROM found JOIN asked ON {WORDS} @@ query
), rarity AS MATERIALIZED (
  SELECT word, ln(1 + (max(everything.rows) - count(*) + 0.5) / (count(*) + 0.5)) AS weight
  FROM times, everything GROUP BY word
), ranked AS (
  SELECT times._rowid, sum(
    weight * n * 2.2 / (n + 1.2 * (0.25 + 0.75 * times.size / everything.size))
  ) AS score
  FROM times JOIN rarity USING (word) CROSS JOIN everything
  GROUP BY times._rowid ORDER BY score DESC, times._rowid LIMIT {limit}::bigint
)
SELECT {selection}, ranked.score::real AS {SCORE}
FROM ranked JOIN {name} t USING (_rowid) ORDER BY ranked.score DESC, t._rowid
"""  # noqa: S608 - only names of ours
