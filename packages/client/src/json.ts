import { AgentLightningError, type JsonObject, type JsonValue } from '@agentlightning/core';

/** The fields of a JSON object that the server returned. */
export type WireRecord = Readonly<Record<string, unknown>>;

/** @throws AgentLightningError INTERNAL for another value */
export function recordOf(value: unknown, what: string): WireRecord {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as WireRecord;
  throw malformed(what);
}

/** @throws AgentLightningError INTERNAL for another value */
export function listOf(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw malformed(what);
}

/** A field that is text. @throws AgentLightningError INTERNAL for another value */
export function textOf(record: WireRecord, name: string): string {
  const value = record[name];
  if (typeof value === 'string') return value;
  throw malformed(`the field ${name}`);
}

/** Text; null when it is absent. */
export function optionalText(record: WireRecord, name: string): string | null {
  const value = record[name];
  return typeof value === 'string' ? value : null;
}

/** A number; null when it is absent. */
export function optionalNumber(record: WireRecord, name: string): number | null {
  const value = record[name];
  return typeof value === 'number' ? value : null;
}

/** True or false; null when it is absent. */
export function optionalBoolean(record: WireRecord, name: string): boolean | null {
  const value = record[name];
  return typeof value === 'boolean' ? value : null;
}

/** A number, which is 0 when it is absent. */
export function numberOf(record: WireRecord, name: string): number {
  return optionalNumber(record, name) ?? 0;
}

/** Milliseconds of a time in seconds. */
export function timeMsOf(record: WireRecord, name: string): number {
  return Math.round(numberOf(record, name) * 1_000_000) / 1000;
}

/** Milliseconds of a time in seconds; null for none. */
export function optionalTimeMs(record: WireRecord, name: string): number | null {
  return optionalNumber(record, name) === null ? null : timeMsOf(record, name);
}

/** A JSON object; null when it is absent. The response was parsed from JSON. */
export function optionalObject(record: WireRecord, name: string): JsonObject | null {
  const value = record[name];
  return typeof value === 'object' && value !== null ? (value as JsonObject) : null;
}

/** A JSON value; null when it is absent. The response was parsed from JSON. */
export function jsonOf(record: WireRecord, name: string): JsonValue {
  return (record[name] ?? null) as JsonValue;
}

function malformed(what: string): AgentLightningError {
  return new AgentLightningError({
    code: 'INTERNAL',
    message: `the response of the server has no valid value for ${what}`,
    remedy: 'Check that the URL is that of `agl server`, and that client and server have the same version.',
  });
}
