-- Statistics read how runs ended and how long they took, and never the rows, whose events may be large. A run enters once, as it ends.
CREATE INDEX runs_org_ended ON runs (org_id, kind, created_at, owner_id, status, started_at, finished_at) WHERE finished_at IS NOT NULL;
