-- Leaf's table of number segments: a row per business tag. SQLite 3.35 and newer. update_time is set by the statements.
CREATE TABLE IF NOT EXISTS leaf_alloc (
  biz_tag     TEXT    NOT NULL PRIMARY KEY,              -- business tag
  max_id      INTEGER NOT NULL DEFAULT 1,                -- first id that is not handed out yet
  step        INTEGER NOT NULL,                          -- ids per segment
  "desc"      TEXT        NULL DEFAULT NULL,             -- what the tag is for
  update_time TEXT    NOT NULL DEFAULT CURRENT_TIMESTAMP -- last segment or change, UTC
);
