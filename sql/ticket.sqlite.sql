-- Tickets: the row of a stub moves to a fresh id for every ticket. SQLite 3.35 and newer.
CREATE TABLE IF NOT EXISTS ticket (
  id   INTEGER PRIMARY KEY AUTOINCREMENT, -- last ticket of the stub
  stub TEXT    NOT NULL UNIQUE            -- what the tickets are for
);
