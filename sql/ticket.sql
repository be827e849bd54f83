-- Tickets: the row of a stub moves to a fresh id for every ticket. MySQL 5.6 and newer, MariaDB 10.2 and newer.
--
-- Without the unique key the table would grow by a row per ticket. Do not delete rows: InnoDB before MySQL 8.0 and MariaDB
-- 10.2 counts on from the highest row that is left when it restarts.
CREATE TABLE IF NOT EXISTS ticket (
  id   BIGINT      NOT NULL AUTO_INCREMENT COMMENT 'last ticket of the stub',
  stub VARCHAR(64) NOT NULL                COMMENT 'what the tickets are for',
  PRIMARY KEY (id),
  UNIQUE KEY uk_ticket_stub (stub)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin COMMENT = 'tickets';
