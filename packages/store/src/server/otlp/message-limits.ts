import { ValidationError } from '@agentlightning/core';
import type { DescMessage } from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { tooLarge } from '../../sql/json-limits.ts';

/** Maximum number of nested messages of a request: spans, events, links, attributes and their values. */
const maxMessages = 100_000;
/** Maximum depth of nested messages; a list in a list takes two. */
const maxDepth = 200;
/** Maximum number of fields. */
const maxFields = 1_000_000;

/**
 * Checks the structure of a binary message without decoding it: what it admits is decoded in a bounded time and memory.
 *
 * @throws AgentLightningError PAYLOAD_TOO_LARGE at the first bound that it exceeds
 */
export function assertMessageSize(schema: DescMessage, bytes: Uint8Array): void {
  const nestedOf = new Map<DescMessage, ReadonlyMap<number, DescMessage>>();
  const pending: PendingMessage[] = [{ schema, start: 0, end: bytes.length, depth: 0 }];
  const reader = new BinaryReader(bytes);
  let messages = 0;
  let fields = 0;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { depth, end } = next;
    const nested = nestedOf.get(next.schema) ?? nestedMessages(next.schema);
    nestedOf.set(next.schema, nested);
    reader.pos = next.start;
    while (reader.pos < end) {
      const [field, wireType] = reader.tag();
      fields += 1;
      if (fields > maxFields) throw tooLarge('fields', maxFields);
      const child = wireType === WireType.LengthDelimited ? nested.get(field) : undefined;
      if (wireType === WireType.StartGroup) throw group();
      if (child === undefined) {
        reader.skip(wireType, field);
        continue;
      }
      const length = reader.uint32();
      messages += 1;
      if (messages > maxMessages) throw tooLarge('messages', maxMessages);
      if (depth >= maxDepth) throw tooLarge('levels of nested messages', maxDepth);
      pending.push({ schema: child, start: reader.pos, end: reader.pos + length, depth: depth + 1 });
      reader.pos += length;
    }
  }
}

/** Groups are skipped without a bound, and OTLP has none. */
function group(): ValidationError {
  return new ValidationError('Request', [{ path: '', message: 'has a group, which OTLP does not have' }]);
}

interface PendingMessage {
  readonly schema: DescMessage;
  readonly start: number;
  readonly end: number;
  readonly depth: number;
}

/** The messages in the fields of a message, by field number. */
function nestedMessages({ fields }: DescMessage): ReadonlyMap<number, DescMessage> {
  return new Map(fields.flatMap((field) => (field.message === undefined ? [] : [[field.number, field.message]])));
}
