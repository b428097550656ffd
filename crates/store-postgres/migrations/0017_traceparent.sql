-- What a delivery carries on of its trace, where traces are on: the value of the header.
ALTER TABLE webhook_deliveries ADD COLUMN traceparent TEXT;
