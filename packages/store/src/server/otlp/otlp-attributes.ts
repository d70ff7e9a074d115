import type { Attributes, AttributeValue, JsonValue } from '@agentlightning/core';
import { toAttributeValue } from '@agentlightning/core/spans';
import type { AnyValue, KeyValue } from '../../gen/agentlightning/otlp/v1/traces_pb.ts';

/**
 * Converts OTLP attributes. Homogeneous lists stay lists (integers and doubles may be mixed); objects and other lists
 * become JSON text, bytes become hex digits, and empty values are omitted.
 */
export function attributesFromOtlp(attributes: readonly KeyValue[]): Attributes {
  const entries: [string, AttributeValue][] = [];
  for (const { key, value } of attributes) {
    const attribute = toAttributeValue(jsonOf(value));
    if (attribute !== null) entries.push([key, attribute]);
  }
  return Object.fromEntries(entries);
}

function jsonOf(any: AnyValue | undefined): JsonValue {
  const held = any?.value;
  switch (held?.case) {
    case 'stringValue':
    case 'boolValue':
      return held.value;
    case 'doubleValue':
      // JSON has no NaN or infinity; text preserves them.
      return Number.isFinite(held.value) ? held.value : String(held.value);
    case 'intValue':
      return Number.isSafeInteger(Number(held.value)) ? Number(held.value) : String(held.value);
    case 'bytesValue':
      return hexOf(held.value);
    case 'arrayValue':
      return held.value.values.map(jsonOf);
    case 'kvlistValue':
      return Object.fromEntries(held.value.values.map(({ key, value }) => [key, jsonOf(value)]));
    case undefined:
      return null;
  }
}

/** Bytes as hex digits. */
export function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
}
