import type { JsonObject } from '@agentlightning/core';

/** The state of a run in the form the store keeps. */
export function writeState(state: object): JsonObject {
  return JSON.parse(JSON.stringify(state)) as JsonObject;
}
