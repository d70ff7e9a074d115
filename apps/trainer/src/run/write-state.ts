import type { JsonObject } from '@agentlightning/core';

/** The state of a run in its stored form. */
export function writeState(state: object): JsonObject {
  return JSON.parse(JSON.stringify(state)) as JsonObject;
}
