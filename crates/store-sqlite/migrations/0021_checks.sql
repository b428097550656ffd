-- A list of more than two values makes SQLite fill a table of its own for each row that it checks: three for each run that is
-- accepted, two for each that is settled. The checks say the same in other words, where they are written (as in 0006).
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(replace(replace(sql,
  'CHECK (kind IN (''live'', ''test'', ''hook''))', 'CHECK (kind = ''live'' OR kind = ''test'' OR kind = ''hook'')'),
  'CHECK (status IN (''queued'', ''running'', ''paused'', ''succeeded'', ''failed'', ''cancelled''))',
  'CHECK (status = ''queued'' OR status = ''running'' OR status = ''paused'' OR status = ''succeeded'' OR status = ''failed'' OR status = ''cancelled'')'),
  '(status IN (''succeeded'', ''failed'', ''cancelled''))', '(status = ''succeeded'' OR status = ''failed'' OR status = ''cancelled'')')
 WHERE type = 'table' AND name = 'runs';
PRAGMA writable_schema = RESET;
