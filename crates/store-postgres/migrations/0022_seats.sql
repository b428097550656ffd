-- Which server runs a source that has a `$.service.db`, until it leaves the seat or is gone itself.
CREATE TABLE source_seats (
  source_id TEXT COLLATE "C" PRIMARY KEY,
  node TEXT COLLATE "C" NOT NULL
);
