-- Which version of a read model is newer: an old program must not drop what a newer one has made.
ALTER TABLE drover.read_models ADD COLUMN version int NOT NULL DEFAULT 0;
