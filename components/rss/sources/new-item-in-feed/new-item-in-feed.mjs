// Emits each new item of an RSS or Atom feed once.
import { axios, ConfigurationError, DEFAULT_POLLING_SOURCE_TIMER_INTERVAL } from "@pipedream/platform";
import { XMLParser } from "fast-xml-parser@^4";

const parser = new XMLParser({ ignoreAttributes: false, attributeNamePrefix: "@" });
const list = (value) => (value === undefined ? [] : [value].flat());
const text = (value) => (value !== null && typeof value === "object" ? value["#text"] : value);

export default {
  key: "rss-new-item-in-feed",
  name: "New Item in Feed",
  description: "Emits an event for each new item of an RSS or Atom feed.",
  version: "0.0.1",
  type: "source",
  dedupe: "unique",
  props: {
    url: { type: "string", label: "Feed URL", description: "The address of the feed." },
    timer: { type: "$.interface.timer", default: { intervalSeconds: DEFAULT_POLLING_SOURCE_TIMER_INTERVAL } },
  },
  methods: {
    items(feed) {
      if (feed.rss?.channel) {
        return list(feed.rss.channel.item).map((item) => ({
          id: text(item.guid) ?? item.link ?? text(item.title), title: text(item.title), link: item.link, date: item.pubDate, content: text(item.description),
        }));
      }
      if (feed.feed) {
        return list(feed.feed.entry).map((entry) => ({
          id: entry.id ?? list(entry.link)[0]?.["@href"], title: text(entry.title), link: list(entry.link)[0]?.["@href"], date: entry.updated ?? entry.published, content: text(entry.summary ?? entry.content),
        }));
      }
      throw new ConfigurationError(`${this.url} is neither an RSS nor an Atom feed`);
    },
  },
  async run() {
    const body = await axios(this, { url: this.url, responseType: "text" });
    for (const item of this.items(parser.parse(body))) {
      const ts = Date.parse(item.date);
      this.$emit(item, { id: item.id, summary: item.title, ts: Number.isNaN(ts) ? undefined : ts });
    }
  },
};
