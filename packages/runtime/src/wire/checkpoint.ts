import { type JsonObject, type JsonValue, ValidationError } from '@agentlightning/core';
import { isJsonObject } from '@agentlightning/core/internal';
import type { Checkpoint } from '@agentlightning/core/training-runtime';
import type { CheckpointInfo } from '../gen/agentlightning/runtime/v1/model_pb.ts';

/** Converts a checkpoint to the type of core. */
export function decodeCheckpoint(info: CheckpointInfo): Checkpoint {
  return {
    uri: info.uri,
    step: info.step,
    policyVersion: info.policyVersion,
    sizeBytes: Number(info.sizeBytes),
    clientState: decodeClientState(info.clientState),
  };
}

/** Client state as UTF-8 JSON. */
export function encodeClientState(state: JsonObject): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(state));
}

/** @throws ValidationError when the bytes were not written by {@link encodeClientState} */
export function decodeClientState(bytes: Uint8Array): JsonObject {
  if (bytes.byteLength === 0) return {};
  try {
    const state: JsonValue = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    if (isJsonObject(state)) return state;
  } catch (error) {
    throw notJson(error);
  }
  throw notJson();
}

function notJson(cause?: unknown): ValidationError {
  const message = 'must be a JSON object; the checkpoint was saved by another kind of client';
  return new ValidationError('client state of a checkpoint', [{ path: '', message }], cause);
}
