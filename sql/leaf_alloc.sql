-- Leaf's table of number segments: a row per business tag. MySQL 5.6 and newer, MariaDB 10.2 and newer. The columns are the
-- original's, so a table that Leaf made is used as it stands; tags here are compared byte by byte, but for spaces at the end.
CREATE TABLE IF NOT EXISTS leaf_alloc (
  biz_tag     VARCHAR(128) NOT NULL                           COMMENT 'business tag',
  max_id      BIGINT       NOT NULL DEFAULT 1                 COMMENT 'first id that is not handed out yet',
  step        INT          NOT NULL                           COMMENT 'ids per segment',
  `desc`      VARCHAR(256)     NULL DEFAULT NULL              COMMENT 'what the tag is for',
  update_time TIMESTAMP    NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP COMMENT 'last segment or change',
  PRIMARY KEY (biz_tag)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'number segments by business tag';
