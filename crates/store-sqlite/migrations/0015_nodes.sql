-- What servers that share a database tell each other: Postgres alone has several.
SELECT 1;
