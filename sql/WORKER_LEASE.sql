-- Worker ids that are used again: a row per worker id, held by one process until UNTIL_MS. New worker ids of the
-- namespace "default" come from WORKER_NODE. The others count for themselves. MySQL 5.6 and newer, MariaDB 10.2 and newer.
--
-- UNTIL_MS is the fence: the next owner stamps no id before it. Do not delete rows and do not set UNTIL_MS back. The row with
-- WORKER_ID -1 is the namespace itself and keeps the bit layout that all its claims share. A namespace is a universe of ids:
-- ids of two may be equal. The index finds the rows that are free.
CREATE TABLE IF NOT EXISTS WORKER_LEASE (
  NAMESPACE  VARCHAR(64)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'service or group of services',
  WORKER_ID  BIGINT       NOT NULL COMMENT 'worker id, -1 for the namespace itself',
  GENERATION BIGINT       NOT NULL COMMENT 'fencing token, one more with each change; of the row -1 the name of its universe',
  NONCE      BIGINT       NOT NULL COMMENT 'random number of the last change, tells its author',
  OWNER      VARCHAR(191) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'process that holds it, empty when given back',
  UNTIL_MS   BIGINT       NOT NULL COMMENT 'end of the reserved window, unix milliseconds',
  LAYOUT     VARCHAR(191) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'bit layout and epoch of the ids',
  CREATED    DATETIME     NOT NULL DEFAULT CURRENT_TIMESTAMP COMMENT 'first claim, UTC',
  MODIFIED   DATETIME     NOT NULL DEFAULT CURRENT_TIMESTAMP COMMENT 'last change, UTC',
  PRIMARY KEY (NAMESPACE, WORKER_ID),
  KEY WORKER_LEASE_FREE (NAMESPACE, UNTIL_MS)
) ENGINE = InnoDB COMMENT = 'worker ids, each held by one process at a time';
