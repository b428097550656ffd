-- Runs of an organization, newest first, and by what never changes of them. A trigger or kind is found without reading rows.
CREATE INDEX runs_org ON runs (org_id, created_at, id, kind, trigger_id);
CREATE INDEX runs_org_troubled ON runs (org_id, created_at, id, status, error_class, error_group) WHERE status IN ('failed', 'cancelled');
-- Executions that come from one event.
CREATE INDEX runs_trace ON runs (substring(context from '"trace_id":"([^"]*)"'), created_at, id);
