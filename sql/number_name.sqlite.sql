-- Names of numbers that begin anew each period: a row per name. SQLite 3.35 and newer. The counters of the periods are rows of
-- another table, leaf_alloc or t_sequence.
CREATE TABLE IF NOT EXISTS number_name (
  name         TEXT    NOT NULL PRIMARY KEY, -- name
  format       TEXT    NOT NULL,             -- format of the first use, and its time zone
  counters     TEXT    NOT NULL,             -- table of the counters
  period_floor INTEGER NOT NULL DEFAULT 0    -- no period below it is begun any more
);
