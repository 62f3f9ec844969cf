-- What a device runs and how far it is, between two events. All four together or none; volatile like the rest of it.
ALTER TABLE tel_fleet.presence
  ADD COLUMN assignment_id uuid,
  ADD COLUMN run int,
  ADD COLUMN progress_pct int,
  ADD COLUMN ad_playing boolean;
