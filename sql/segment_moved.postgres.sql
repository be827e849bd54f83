-- Tags whose counter has moved to another database: a row per tag. PostgreSQL 10 and newer. The row is written before the counter
-- is put at its end.
CREATE TABLE IF NOT EXISTS segment_moved (
  tag      VARCHAR(128) NOT NULL PRIMARY KEY, -- tag
  counters VARCHAR(128) NOT NULL,             -- table of its counter
  place    VARCHAR(255) NOT NULL,             -- where the counter goes
  next_id  BIGINT       NOT NULL              -- the counter there begins at it or above
);
