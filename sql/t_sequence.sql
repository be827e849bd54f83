-- Named sequences that hand out blocks. MySQL 5.6 and newer, MariaDB 10.2 and newer. Names are compared byte by byte, but for spaces at the end.
--
-- A block is [current_val, current_val + increment_val) after current_val was advanced, so lowering increment_val by hand makes the
-- next block overlap the last one.
CREATE TABLE IF NOT EXISTS t_sequence (
  pk_seq_name   VARCHAR(50) NOT NULL           COMMENT 'name',
  current_val   BIGINT      NOT NULL DEFAULT 0 COMMENT 'first id of the newest block',
  increment_val INT         NOT NULL DEFAULT 1 COMMENT 'ids per block',
  PRIMARY KEY (pk_seq_name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'named sequences of id blocks';
