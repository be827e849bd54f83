-- Tags whose counter has moved to another database: a row per tag. MySQL 5.6 and newer, MariaDB 10.2 and newer. The row is
-- written before the counter is put at its end.
CREATE TABLE IF NOT EXISTS segment_moved (
  tag      VARCHAR(128) NOT NULL COMMENT 'tag',
  counters VARCHAR(128) NOT NULL COMMENT 'table of its counter',
  place    VARCHAR(255) NOT NULL COMMENT 'where the counter goes',
  next_id  BIGINT       NOT NULL COMMENT 'the counter there begins at it or above',
  PRIMARY KEY (tag)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'tags that moved to another database';
