-- Leaf's table of number segments: a row per business tag. PostgreSQL 10 and newer. update_time is set by the statements.
CREATE TABLE IF NOT EXISTS leaf_alloc (
  biz_tag     VARCHAR(128) NOT NULL PRIMARY KEY,              -- business tag
  max_id      BIGINT       NOT NULL DEFAULT 1,                -- first id that is not handed out yet
  step        INT          NOT NULL,                          -- ids per segment
  "desc"      VARCHAR(256)     NULL DEFAULT NULL,             -- what the tag is for
  update_time TIMESTAMPTZ  NOT NULL DEFAULT CURRENT_TIMESTAMP -- last segment or change
);
