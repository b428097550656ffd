import { expect, test } from "vitest";
import { refusedIn } from "./refused";

const said = (address: string, rule: string) =>
  `a connection to ${address} was refused (EACCES): it is ${rule}; whoever runs the server opens it with --egress-allow ${address}`;

test("refused connections are found in errors and logs, each address once", () => {
  const texts = [
    `fetch failed; ${said("10.1.2.3:5432", "a private address")}; ${said("[fd00::1]:80", "a private address")}`,
    said("10.1.2.3:5432", "a private address"),
    said("127.0.0.1:80", "a loopback address"),
    "connect EACCES 10.9.9.9:1",
  ];
  expect(refusedIn(texts)).toEqual([
    { address: "10.1.2.3:5432", rule: "a private address" },
    { address: "[fd00::1]:80", rule: "a private address" },
    { address: "127.0.0.1:80", rule: "a loopback address" },
  ]);
});
