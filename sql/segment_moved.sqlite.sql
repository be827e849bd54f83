-- Tags whose counter has moved to another database: a row per tag. SQLite 3.35 and newer. The row is written before the counter is
-- put at its end.
CREATE TABLE IF NOT EXISTS segment_moved (
  tag      TEXT    NOT NULL PRIMARY KEY, -- tag
  counters TEXT    NOT NULL,             -- table of its counter
  place    TEXT    NOT NULL,             -- where the counter goes
  next_id  INTEGER NOT NULL              -- the counter there begins at it or above
);
