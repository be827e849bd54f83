-- Worker ids that are used once: every start of a process inserts a row, and the row's ID is its worker id.
-- MySQL 5.6 and newer, MariaDB 10.2 and newer, in strict mode too: both times have a default.
--
-- The rows are the memory of which ids are used. Do not delete them: InnoDB before MySQL 8.0 and MariaDB 10.2 counts on from the
-- highest row that is left when it restarts, and hands out again what was deleted above it.
CREATE TABLE IF NOT EXISTS WORKER_NODE (
  ID          BIGINT      NOT NULL AUTO_INCREMENT            COMMENT 'worker id',
  HOST_NAME   VARCHAR(64) NOT NULL                           COMMENT 'host name or address',
  PORT        VARCHAR(64) NOT NULL                           COMMENT 'port, or milliseconds-random',
  TYPE        INT         NOT NULL                           COMMENT '1 container, 2 actual machine',
  LAUNCH_DATE DATE        NOT NULL                           COMMENT 'day of the start, UTC',
  MODIFIED    DATETIME    NOT NULL DEFAULT CURRENT_TIMESTAMP COMMENT 'last change, UTC',
  CREATED     DATETIME    NOT NULL DEFAULT CURRENT_TIMESTAMP COMMENT 'start, UTC',
  PRIMARY KEY (ID)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COMMENT = 'worker ids, each used by one start of one process';
