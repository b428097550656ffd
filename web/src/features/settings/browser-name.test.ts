import { expect, test } from "vitest";
import { browserName } from "./browser-name";

const KIT = "AppleWebKit/537.36 (KHTML, like Gecko)";

test.each([
  [
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Firefox 140 on Linux",
  ],
  [
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${KIT} Chrome/141.0.0.0 Safari/537.36`,
    "Chrome 141 on Windows",
  ],
  [
    `Mozilla/5.0 (X11; Linux x86_64) ${KIT} HeadlessChrome/141.0.0.0 Safari/537.36`,
    "Chrome 141 on Linux",
  ],
  [
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${KIT} Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0`,
    "Edge 141 on Windows",
  ],
  [
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15",
    "Safari 18 on macOS",
  ],
  [
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
    "Safari 18 on iPhone",
  ],
  [
    `Mozilla/5.0 (Linux; Android 10; K) ${KIT} Chrome/141.0.0.0 Mobile Safari/537.36`,
    "Chrome 141 on Android",
  ],
  ["curl/8.5.0", "curl 8"],
  ["node", "node"],
  ["", "Unknown browser"],
])("%s", (userAgent, name) => {
  expect(browserName(userAgent)).toBe(name);
});
