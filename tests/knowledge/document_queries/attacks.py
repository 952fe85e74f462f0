"""Queries that look like questions."""

BOMB = " || ".join(["title"] * 40)

ATTACKS = {
    # writing
    "insert": "INSERT INTO documents SELECT * FROM documents",
    "update": "UPDATE documents SET title = 'x'",
    "delete": "DELETE FROM documents",
    "drop": "DROP TABLE documents",
    "create table": "CREATE TABLE x AS SELECT * FROM documents",
    "create view": "CREATE TEMP VIEW v AS SELECT 1",
    "create trigger": "CREATE TRIGGER t AFTER INSERT ON documents BEGIN SELECT 1; END",
    "alter": "ALTER TABLE documents ADD COLUMN x",
    "reindex": "REINDEX",
    "vacuum into": "VACUUM INTO '/tmp/stolen.db'",
    "select into": "SELECT * INTO stolen FROM documents",
    "replace into": "REPLACE INTO documents(title) VALUES ('x')",
    "writing cte": "WITH x AS (SELECT 1) DELETE FROM documents",
    "returning": "DELETE FROM documents RETURNING *",
    "begin": "BEGIN EXCLUSIVE",
    # other statements, or several
    "two statements": "SELECT 1; DROP TABLE documents",
    "hidden second": "SELECT 1 /* ; */ ; -- x\n DELETE FROM documents",
    "half comment": "SELECT 1 --\n; DROP TABLE documents; --",
    "explain": "EXPLAIN SELECT * FROM documents",
    "values": "VALUES (1), (2)",
    "nothing": "-- nothing",
    "empty": "",
    "prose": "Here is the query: SELECT 1",
    # out of the database
    "attach": "ATTACH DATABASE '/etc/passwd' AS p",
    "detach": "DETACH DATABASE main",
    "pragma": "PRAGMA query_only = OFF",
    "pragma function": "SELECT * FROM pragma_table_info('documents')",
    "pragma database list": "SELECT * FROM pragma_database_list",
    "load extension": "SELECT load_extension('/tmp/x.so')",
    "readfile": "SELECT readfile('/etc/passwd')",
    "writefile": "SELECT writefile('/tmp/x', 'y')",
    "edit": "SELECT edit(title) FROM documents",
    "fts tokenizer": "SELECT fts3_tokenizer('simple')",
    "sqlite_master": "SELECT * FROM sqlite_master",
    "sqlite_schema": "SELECT sql FROM sqlite_schema",
    "quoted master": 'SELECT * FROM "sqlite_master"',
    "bracketed master": "SELECT * FROM [sqlite_temp_master]",
    "dbstat": "SELECT * FROM dbstat",
    "main schema": "SELECT * FROM main.documents",
    "temp schema": "SELECT * FROM temp.documents",
    "schema of a column": "SELECT main.documents.title FROM documents",
    "other tenant's table": "SELECT * FROM documents_of_others",
    "union with the schema": "SELECT title FROM documents UNION ALL SELECT sql FROM sqlite_master",
    "schema in a subquery": "SELECT (SELECT group_concat(sql) FROM sqlite_master)",
    "schema in exists": "SELECT 1 WHERE EXISTS (SELECT 1 FROM sqlite_master)",
    "table function": "SELECT * FROM json_each('[1,2]')",
    "series": "SELECT * FROM generate_series(1, 1000000000)",
    "version": "SELECT sqlite_version(), sqlite_source_id()",
    "rowid": "SELECT rowid FROM documents",
    "parameter": "SELECT ?1, :name, @other, $more",
    # memory
    "randomblob": "SELECT randomblob(1000000000)",
    "zeroblob": "SELECT hex(zeroblob(1000000000))",
    "printf": "SELECT printf('%1000000000d', 1)",
    "format": "SELECT format('%.*c', 1000000000, 'x')",
    "replace": "SELECT replace(title, '', title) FROM documents",
    "char": "SELECT char(65, 66)",
    "doubling": f"WITH a AS (SELECT {BOMB} AS t FROM documents), b AS (SELECT {BOMB.replace('title', 't')} AS u FROM a), "
    f"c AS (SELECT {BOMB.replace('title', 'u')} AS v FROM b) SELECT {BOMB.replace('title', 'v')} FROM c",
    "long group_concat": "SELECT group_concat(a.title || b.title || c.title || d.title) FROM documents a, documents b, "
    "documents c, documents d",
    "json": "SELECT json_group_array(title) FROM documents",
    # time
    "recursive bomb": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
    "recursive without the word": "WITH r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
    "cross join": "SELECT count(*) FROM documents a, documents b, documents c, documents d, documents e, documents f",
    "many tables": "SELECT 1 FROM documents a, documents b, documents c, documents d, documents e, documents f, documents g",
    "ordered cross join": "SELECT a.title FROM documents a, documents b, documents c, documents d, documents e "
    "ORDER BY a.title || b.title || c.title LIMIT 1",
    "like bomb": "SELECT count(*) FROM documents WHERE title || title || title LIKE '"
    + "%a" * 60
    + "b'",
    "glob bomb": "SELECT count(*) FROM documents WHERE title GLOB '" + "*a" * 60 + "b'",
    "concatenated pattern": "SELECT count(*) FROM documents a, documents b WHERE a.title LIKE '"
    + "%a" * 29
    + "' || b.title || '%x'",
    "regex bomb": "SELECT * FROM documents WHERE title REGEXP '(a+)+$'",
    "match": "SELECT * FROM documents WHERE title MATCH 'x'",
    "huge in list": f"SELECT 1 FROM documents WHERE size IN ({', '.join(map(str, range(5_000)))})",
    "wide in list": f"SELECT 1 FROM documents WHERE size IN ({', '.join(map(str, range(600)))})",
    "deep parentheses": "SELECT " + "(" * 1_900 + "1" + ")" * 1_900,
    "deep not": "SELECT " + "NOT " * 900 + "1",
    "deep case": "SELECT " + "CASE WHEN 1 THEN " * 150 + "1" + " END" * 150,
    "deep subqueries": "SELECT * FROM " + "(SELECT * FROM " * 200 + "documents" + ")" * 200,
    "long": "SELECT '" + "x" * 10_000 + "'",
    "many unions": " UNION ALL ".join(["SELECT title FROM documents"] * 30),
    "correlated": "SELECT (SELECT count(*) FROM documents b, documents c, documents d, documents e WHERE b.size > a.size "
    "AND c.size > b.size OR d.size > e.size) FROM documents a",
    # ways around the limit
    "limit of a subquery": "SELECT * FROM documents LIMIT (SELECT 1000000)",
    "negative limit": "SELECT * FROM documents LIMIT -1",
    "limit of an expression": "SELECT * FROM documents LIMIT 1e9",
    "limit of a text": "SELECT * FROM documents LIMIT '1000000'",
    # letters that are not what they seem
    "full-width semicolon": "SELECT 1； DROP TABLE documents",
    "cyrillic table": "SELECT * FROM dоcuments",
    "zero byte": "SELECT 1\x00; DROP TABLE documents",
    "zero-width space": "SELECT * FROM sqlite\u200b_master",
    "full-width name": "SELECT * FROM ｓｑｌｉｔｅ＿ｍａｓｔｅｒ",
    "lone surrogate": "SELECT '\ud800' FROM documents",
    "quoted function": "SELECT \"load_extension\"('x')",
    "capitals and comments": "sElEcT/**/LoAd_ExTeNsIoN/**/('x')",
    "version comment": "SELECT 1 /*! ; DROP TABLE documents */ FROM sqlite_master",
    "text in double quotes": 'SELECT count(*) FROM documents WHERE media_type = "application/pdf"',
}

QUESTIONS = {
    "How many?": "SELECT COUNT(*) FROM documents",
    "How many of each type?": "SELECT media_type, COUNT(*) AS n FROM documents GROUP BY media_type ORDER BY n DESC",
    "The largest three": "SELECT title, size FROM documents ORDER BY size DESC LIMIT 3",
    "Of 2021": "SELECT document FROM documents WHERE document_time >= '2021-01-01' AND document_time < '2022-01-01'",
    "By year": "SELECT strftime('%Y', document_time) AS year, COUNT(*) FROM documents GROUP BY 1 ORDER BY 1",
    "By an attribute": "SELECT author, AVG(size) FROM documents GROUP BY author HAVING COUNT(*) > 2",
    "Numbers of attributes": "SELECT title FROM documents WHERE year > 2021 AND author = 'Bo'",
    "Odd attributes": "SELECT COUNT(DISTINCT d.document_id) FROM documents AS d JOIN metadata AS m ON "
    "m.document_id = d.document_id WHERE m.key = 'x y' AND m.value = 'z'",
    "Small letters": "SELECT title FROM documents WHERE lower(title) LIKE '%manual 1%' OR title ILIKE '%MANUAL 2%'",
    "In a fence's style": "SELECT title FROM documents WHERE pages IS NOT NULL; -- only PDF files",
    "Shares": "SELECT media_type, ROUND(100.0 * COUNT(*) / (SELECT COUNT(*) FROM documents), 1) FROM documents "
    "GROUP BY media_type",
    "Common table": "WITH big AS (SELECT * FROM documents WHERE size > 20000) SELECT author, COUNT(*) FROM big "
    "GROUP BY author",
    "Ranks": "SELECT title, ROW_NUMBER() OVER (PARTITION BY media_type ORDER BY size DESC) AS place FROM documents",
    "Choice": "SELECT CASE WHEN size < 10000 THEN 'small' ELSE 'large' END AS kind, COUNT(*) FROM documents GROUP BY kind",
    "Without": "SELECT title FROM documents WHERE document_id NOT IN (SELECT document_id FROM metadata WHERE key = 'x')",
    "Last months": "SELECT COUNT(*) FROM documents WHERE document_time > datetime('now', '-120 months')",
    "Joined texts": "SELECT author, group_concat(title, ', ') FROM documents WHERE size < 5000 GROUP BY author",
    "Casts": "SELECT CAST(SUM(size) AS REAL) / 1024 AS kib FROM documents WHERE title NOT LIKE 'x%'",
    "Set operation": "SELECT author FROM documents UNION SELECT 'nobody' ORDER BY 1",
    "Star of a table": "SELECT d.* FROM documents d WHERE substr(d.title, 1, 3) = 'Man' AND d.size BETWEEN 1 AND 9000",
}
