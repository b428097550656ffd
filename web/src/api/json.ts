/** Readers of values whose shape the server's document leaves open. */

import { WrittenNumber } from "~/json/exact";
import type { components } from "./schema";

type Schemas = components["schemas"];

export type SentObject = Schemas["JsonObject"];

export type JsonObject = { [name: string]: unknown };

/** A value that is sent: requests are written as JSON, so all of it is. */
export const asJson = (value: unknown): Schemas["Json"] => value as Schemas["Json"];

/** The same of an object. */
export const asJsonObject = (value: object): SentObject => value as SentObject;

export function isObject(value: unknown): value is JsonObject {
  if (typeof value !== "object" || value === null) return false;
  return !Array.isArray(value) && !(value instanceof WrittenNumber);
}

export function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export function numberOf(value: unknown): number | undefined {
  const number = value instanceof WrittenNumber ? Number(value.text) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}
