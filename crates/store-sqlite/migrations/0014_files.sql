-- `files`: the files that came with a component's code, JSON {entry, others}. `made_from`: the folder or file that a workflow
-- or source was made from, JSON {project, path, fingerprints}.
ALTER TABLE components ADD COLUMN files TEXT;
ALTER TABLE sources ADD COLUMN made_from TEXT;
ALTER TABLE workflows ADD COLUMN made_from TEXT;
