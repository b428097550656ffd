-- Subscriptions that were made while their listener was deleted stayed, and an auto-subscription made further ones.
DELETE FROM subscriptions WHERE NOT EXISTS (SELECT 1 FROM workflows w WHERE w.id = listener_id)
  AND NOT EXISTS (SELECT 1 FROM sources s WHERE s.id = listener_id) AND NOT EXISTS (SELECT 1 FROM webhooks h WHERE h.id = listener_id);
DELETE FROM auto_subscriptions WHERE NOT EXISTS (SELECT 1 FROM workflows w WHERE w.id = listener_id)
  AND NOT EXISTS (SELECT 1 FROM sources s WHERE s.id = listener_id) AND NOT EXISTS (SELECT 1 FROM webhooks h WHERE h.id = listener_id);
