// Makes an HTTP request and returns its answer.
import { axios } from "@pipedream/platform";

export default {
  key: "http-send-request",
  name: "Send HTTP Request",
  description: "Makes an HTTP request and returns the body of its answer.",
  version: "0.0.1",
  type: "action",
  props: {
    url: { type: "string", label: "URL" },
    method: { type: "string", options: ["GET", "POST", "PUT", "PATCH", "DELETE"], default: "GET" },
    headers: { type: "object", optional: true },
    body: { type: "any", optional: true },
  },
  async run({ $ }) {
    const answer = await axios($, { url: this.url, method: this.method, headers: this.headers, data: this.body });
    $.export("$summary", `${this.method} ${this.url}`);
    return answer;
  },
};
