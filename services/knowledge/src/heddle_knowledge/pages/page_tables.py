"""The tables of pages in PostgreSQL, and how they are searched.

BM25 is computed as SQLite's FTS5 does it, from the same words, so that both rank alike: k1 is 1.2,
b 0.75, a word that half of the pages have weighs almost nothing, and the pages of the whole
collection count, whichever documents are searched.
"""

TABLES = """
CREATE TABLE IF NOT EXISTS paged_documents (
  collection text NOT NULL,
  sha256 text NOT NULL,
  maker text NOT NULL,
  pages integer NOT NULL,
  whole boolean NOT NULL DEFAULT false,
  PRIMARY KEY (collection, sha256)
);
CREATE TABLE IF NOT EXISTS pages (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  collection text NOT NULL,
  sha256 text NOT NULL,
  page integer NOT NULL,
  size integer NOT NULL,
  summary vector,
  text text NOT NULL,
  figures text NOT NULL,
  scanned boolean NOT NULL,
  picture_sha256 text NOT NULL,
  words bytea NOT NULL,
  picture bytea,
  object_key text UNIQUE,
  UNIQUE (collection, sha256, page) INCLUDE (size),
  FOREIGN KEY (collection, sha256) REFERENCES paged_documents
);
ALTER TABLE pages ALTER COLUMN summary SET STORAGE MAIN;
ALTER TABLE pages ALTER COLUMN words SET STORAGE EXTERNAL;
ALTER TABLE pages ALTER COLUMN picture SET STORAGE EXTERNAL;
CREATE TABLE IF NOT EXISTS page_words (
  collection text NOT NULL,
  word text COLLATE "C" NOT NULL,
  page bigint NOT NULL REFERENCES pages ON DELETE CASCADE,
  times integer NOT NULL,
  PRIMARY KEY (collection, word, page) INCLUDE (times)
);
CREATE INDEX IF NOT EXISTS page_words_by_page ON page_words (page);
"""

KNOWN = "SELECT maker FROM paged_documents WHERE collection = $1 AND sha256 = $2 FOR UPDATE"
EXPECT = """
INSERT INTO paged_documents (collection, sha256, maker, pages) VALUES ($1, $2, $3, $4)
ON CONFLICT DO NOTHING
"""
STORED = "SELECT page FROM pages WHERE collection = $1 AND sha256 = $2 ORDER BY page"
ADD = """
INSERT INTO pages (collection, sha256, page, size, summary, text, figures, scanned, picture_sha256,
  words, picture, object_key)
SELECT $1, $2, $3, $4, $5::text::vector, $6, $7, $8, $9, $10, $11, $12
FROM paged_documents WHERE collection = $1 AND sha256 = $2
ON CONFLICT (collection, sha256, page) DO NOTHING RETURNING id
"""
ADD_WORDS = """
INSERT INTO page_words (collection, word, page, times)
SELECT $1, word, $2, times FROM unnest($3::text[], $4::integer[]) AS counted (word, times)
"""
FINISH = """
UPDATE paged_documents SET whole = true WHERE collection = $1 AND sha256 = $2 RETURNING true
"""
FORGET_PAGES = """
DELETE FROM pages WHERE id IN (
  SELECT id FROM pages WHERE collection = $1 AND sha256 = $2 LIMIT 200
) RETURNING object_key
"""
FORGET = "DELETE FROM paged_documents WHERE collection = $1 AND sha256 = $2"

_SIZES = """
sizes AS MATERIALIZED (
  SELECT count(*)::float8 AS pages, avg(size)::float8 AS size FROM pages WHERE collection = $1
)"""
_FREQUENCY = "w.times * 2.2 / (w.times + 1.2 * (0.25 + 0.75 * p.size / sizes.size))"
MATCHING = f"""
WITH {_SIZES}, counted AS MATERIALIZED (
  SELECT word, count(*) AS asked, (
    SELECT count(*) FROM page_words WHERE collection = $1 AND page_words.word = terms.word
  ) AS hits FROM unnest($2::text[]) AS terms (word) GROUP BY word
), weighted AS MATERIALIZED (
  SELECT word, asked * CASE WHEN 2 * hits < pages
    THEN ln((pages - hits + 0.5) / (hits + 0.5)) ELSE 1e-6 END AS weight
  FROM counted, sizes
)
SELECT p.id, sum(weight * {_FREQUENCY}) AS bm25
FROM sizes, weighted JOIN page_words w ON w.collection = $1 AND w.word = weighted.word
JOIN pages p ON p.id = w.page
WHERE $3::text[] IS NULL OR p.sha256 = ANY($3)
GROUP BY p.id ORDER BY bm25 DESC, p.id LIMIT $4
"""  # noqa: S608 - only names of ours
COUNTS = """
SELECT word, (
  SELECT count(*) FROM page_words w WHERE w.collection = $1 AND w.word = terms.word
) AS hits FROM unnest($2::text[]) AS terms (word) GROUP BY word
"""
OCCURRENCES = f"""
WITH {_SIZES}
SELECT w.word, w.page, {_FREQUENCY} AS frequency
FROM sizes, page_words w JOIN pages p ON p.id = w.page
WHERE w.collection = $1 AND w.word = ANY($2) AND w.page = ANY($3)
"""  # noqa: S608 - only names of ours
NEAREST = """
SELECT id FROM pages
WHERE collection = $1 AND summary IS NOT NULL AND ($3::text[] IS NULL OR sha256 = ANY($3))
ORDER BY summary <#> $2::text::vector, id LIMIT $4
"""
