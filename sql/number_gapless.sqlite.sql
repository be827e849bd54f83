-- Counters without gaps, which change inside the caller's transactions: a row per period and key. SQLite 3.35 and newer.
CREATE TABLE IF NOT EXISTS number_gapless (
  tag     TEXT    NOT NULL PRIMARY KEY, -- name@period@key
  counted INTEGER NOT NULL              -- last number that was used
);
