import { expect, it } from "vitest";
import { withoutEarlierSaves } from "./saves";

const record = (action: string, target = "p_1", user_id = "u_1") => ({
  action,
  target,
  user_id,
  key_id: "",
});
const save = (target?: string, user?: string) => record("PUT /workflows/{id}", target, user);
const deploy = () => record("POST /workflows/{id}/deploy");

it("keeps the newest of the saves of one person between two other actions", () => {
  const newestFirst = [
    save(),
    save("p_2"),
    save(),
    deploy(),
    save(),
    save(),
    save("p_1", "u_2"),
    deploy(),
    deploy(),
  ];
  expect(withoutEarlierSaves(newestFirst).map((each) => newestFirst.indexOf(each))).toEqual([
    0, 1, 3, 4, 6, 7, 8,
  ]);
});
