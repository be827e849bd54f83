-- Names of numbers that begin anew each period: a row per name. MySQL 5.6 and newer, MariaDB 10.2 and newer. The counters of the
-- periods are rows of another table, leaf_alloc or t_sequence, which are made under the lock of the name's row.
CREATE TABLE IF NOT EXISTS number_name (
  name         VARCHAR(32)  NOT NULL           COMMENT 'name',
  format       VARCHAR(255) NOT NULL           COMMENT 'format of the first use, and its time zone',
  counters     VARCHAR(128) NOT NULL           COMMENT 'table of the counters',
  period_floor BIGINT       NOT NULL DEFAULT 0 COMMENT 'no period below it is begun any more',
  PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'names of numbers by period';
