-- Counters without gaps, which change inside the caller's transactions: a row per period and key. MySQL 5.6 and newer, MariaDB 10.2 and newer.
CREATE TABLE IF NOT EXISTS number_gapless (
  tag     VARCHAR(64) NOT NULL COMMENT 'name@period@key',
  counted BIGINT      NOT NULL COMMENT 'last number that was used',
  PRIMARY KEY (tag)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'numbers without gaps by period and key';
