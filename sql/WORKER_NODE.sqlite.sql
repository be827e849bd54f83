-- Worker ids that are used once: every start of a process inserts a row, and the row's ID is its worker id.
-- SQLite 3. AUTOINCREMENT is what keeps the id of a deleted row from being used again.
CREATE TABLE IF NOT EXISTS WORKER_NODE (
  ID          INTEGER PRIMARY KEY AUTOINCREMENT,          -- worker id
  HOST_NAME   TEXT    NOT NULL,                           -- host name or address
  PORT        TEXT    NOT NULL,                           -- port, or milliseconds-random
  TYPE        INTEGER NOT NULL,                           -- 1 container, 2 actual machine
  LAUNCH_DATE TEXT    NOT NULL,                           -- day of the start, UTC
  MODIFIED    TEXT    NOT NULL DEFAULT CURRENT_TIMESTAMP, -- last change, UTC
  CREATED     TEXT    NOT NULL DEFAULT CURRENT_TIMESTAMP  -- start, UTC
);
