-- Worker ids that are used again: a row per worker id, held by one process until UNTIL_MS. New worker ids of the
-- namespace "default" come from WORKER_NODE. The others count for themselves. SQLite 3.
--
-- UNTIL_MS is the fence: the next owner stamps no id before it. Do not delete rows and do not set UNTIL_MS back. The row with
-- WORKER_ID -1 is the namespace itself and keeps the bit layout that all its claims share. A namespace is a universe of ids:
-- ids of two may be equal. The index finds the rows that are free.
CREATE TABLE IF NOT EXISTS WORKER_LEASE (
  NAMESPACE  TEXT    NOT NULL,                           -- service or group of services
  WORKER_ID  INTEGER NOT NULL,                           -- worker id, -1 for the namespace itself
  GENERATION INTEGER NOT NULL,                           -- fencing token, one more with each change; of the row -1 the name of its universe
  NONCE      INTEGER NOT NULL,                           -- random number of the last change, tells its author
  OWNER      TEXT    NOT NULL,                           -- process that holds it, empty when given back
  UNTIL_MS   INTEGER NOT NULL,                           -- end of the reserved window, unix milliseconds
  LAYOUT     TEXT    NOT NULL,                           -- bit layout and epoch of the ids
  CREATED    TEXT    NOT NULL DEFAULT CURRENT_TIMESTAMP, -- first claim, UTC
  MODIFIED   TEXT    NOT NULL DEFAULT CURRENT_TIMESTAMP, -- last change, UTC
  PRIMARY KEY (NAMESPACE, WORKER_ID)
);
CREATE INDEX IF NOT EXISTS WORKER_LEASE_FREE ON WORKER_LEASE (NAMESPACE, UNTIL_MS);
