-- How the farm was in each minute, for charts: what no event says. Measured by the api; no part of the log, nor of verify.
CREATE TABLE drover.farm_minutes (
  minute  timestamptz PRIMARY KEY,
  online  int NOT NULL,
  busy    int NOT NULL,
  offline int NOT NULL,
  error   int NOT NULL,
  lag_ms  bigint
) WITH (fillfactor = 50);
COMMENT ON TABLE drover.farm_minutes IS 'Phones by status and the lag of the read models, a row a minute, for 31 days. A minute without a row was not measured.';
COMMENT ON COLUMN drover.farm_minutes.online IS 'Phones that were online and idle at the last measurement of the minute. The next three columns likewise.';
COMMENT ON COLUMN drover.farm_minutes.lag_ms IS 'The largest lag of a read model behind its log in this minute; null if it could not be measured.';
