-- Which server runs a source that has a `$.service.db`: Postgres alone has several.
SELECT 1;
