// Emits each request to its endpoint as an event, and answers at once.
export default {
  key: "http-new-requests",
  name: "New Requests",
  description: "Emits an event for each HTTP request to the endpoint.",
  version: "0.0.1",
  type: "source",
  props: {
    http: { type: "$.interface.http", customResponse: true },
    db: "$.service.db",
  },
  async run(event) {
    const count = (this.db.get("count") || 0) + 1;
    this.db.set("count", count);
    this.http.respond({ status: 200, body: { received: true, count } });
    this.$emit(
      { method: event.method, path: event.path, query: event.query, headers: event.headers, body: event.body },
      { id: count, summary: `${event.method} ${event.path}`, ts: Date.now() },
    );
  },
};
