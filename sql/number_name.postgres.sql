-- Names of numbers that begin anew each period: a row per name. PostgreSQL 10 and newer. The counters of the periods are rows of
-- another table, leaf_alloc or t_sequence, which are made under the lock of the name's row.
CREATE TABLE IF NOT EXISTS number_name (
  name         VARCHAR(32)  NOT NULL PRIMARY KEY, -- name
  format       VARCHAR(255) NOT NULL,             -- format of the first use, and its time zone
  counters     VARCHAR(128) NOT NULL,             -- table of the counters
  period_floor BIGINT       NOT NULL DEFAULT 0    -- no period below it is begun any more
);
