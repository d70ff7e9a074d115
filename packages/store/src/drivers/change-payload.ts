import { type StoreChange, unknownChange } from '../changes/change-feed.ts';

/** A change notification between processes. */
export interface ChangeMessage {
  /** The sender, which ignores its own messages. */
  readonly from: string;
  readonly changes: readonly StoreChange[];
}

// PostgreSQL limits payloads to less than 8000 bytes.
const maxPayloadBytes = 7900;
const maxPayloads = 16;

/** Splits changes into payloads; an unknown change when they are too many or too long. */
export function changePayloads(message: ChangeMessage): readonly string[] {
  const payloads: string[] = [];
  const available = maxPayloadBytes - Buffer.byteLength(payloadOf(message.from, []));
  let part: string[] = [];
  let size = 0;
  for (const change of message.changes) {
    const text = JSON.stringify(change);
    const length = Buffer.byteLength(text) + 1;
    if (length > available || payloads.length === maxPayloads)
      return [payloadOf(message.from, [JSON.stringify(unknownChange[0])])];
    if (size + length > available) {
      payloads.push(payloadOf(message.from, part));
      part = [];
      size = 0;
    }
    part.push(text);
    size += length;
  }
  if (part.length > 0) payloads.push(payloadOf(message.from, part));
  return payloads;
}

/** Parses a payload; an invalid one is an unknown change. */
export function changesFromPayload(payload: string): ChangeMessage {
  try {
    const message: unknown = JSON.parse(payload);
    if (isChangeMessage(message)) return message;
  } catch {
    // Sent by another application or another version of this package.
  }
  return { from: '', changes: unknownChange };
}

function payloadOf(from: string, changes: readonly string[]): string {
  return `{"from":${JSON.stringify(from)},"changes":[${changes.join(',')}]}`;
}

function isChangeMessage(message: unknown): message is ChangeMessage {
  return (
    typeof message === 'object' &&
    message !== null &&
    'from' in message &&
    typeof message.from === 'string' &&
    'changes' in message &&
    Array.isArray(message.changes) &&
    message.changes.every((change: unknown) => typeof change === 'object' && change !== null && 'kind' in change)
  );
}
