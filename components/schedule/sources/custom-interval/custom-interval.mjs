// Emits an event at each tick of its timer.
export default {
  key: "schedule-custom-interval",
  name: "Custom Interval",
  description: "Emits an event at an interval or on a cron schedule.",
  version: "0.0.1",
  type: "source",
  props: {
    timer: { type: "$.interface.timer", default: { intervalSeconds: 3600 } },
  },
  async run(event) {
    this.$emit(event, { id: event.timestamp, summary: new Date(event.timestamp * 1000).toISOString(), ts: event.timestamp * 1000 });
  },
};
