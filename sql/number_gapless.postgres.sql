-- Counters without gaps, which change inside the caller's transactions: a row per period and key. PostgreSQL 10 and newer.
CREATE TABLE IF NOT EXISTS number_gapless (
  tag     VARCHAR(64) NOT NULL PRIMARY KEY, -- name@period@key
  counted BIGINT      NOT NULL              -- last number that was used
);
