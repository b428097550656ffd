-- How many settlements wrote to a source's `$.service.db` without its seat: Postgres alone has several servers.
SELECT 1;
