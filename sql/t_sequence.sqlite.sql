-- Named sequences that hand out blocks. SQLite 3.35 and newer.
--
-- A block is [current_val, current_val + increment_val) after current_val was advanced, so lowering increment_val by hand makes the
-- next block overlap the last one.
CREATE TABLE IF NOT EXISTS t_sequence (
  pk_seq_name   TEXT    NOT NULL PRIMARY KEY, -- name
  current_val   INTEGER NOT NULL DEFAULT 0,   -- first id of the newest block
  increment_val INTEGER NOT NULL DEFAULT 1    -- ids per block
);
