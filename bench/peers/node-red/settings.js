module.exports = { uiPort: Number(process.env.PORT), uiHost: "127.0.0.1", flowFile: "flows.json", httpAdminRoot: false, logging: { console: { level: "warn" } }, telemetry: { enabled: false } };
