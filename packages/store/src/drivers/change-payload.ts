import { type StoreChange, unknownChange } from '../store-change.ts';

/** What one process tells the others. */
export interface ChangeMessage {
  /** Who tells it, so that nobody hears of its own changes twice. */
  readonly from: string;
  readonly changes: readonly StoreChange[];
}

// PostgreSQL takes fewer than 8000 bytes at once.
const maxPayloadBytes = 7900;
const maxPayloads = 16;

/** The changes as texts that are short enough to be sent; that something changed, when they are too many or too long. */
export function changePayloads(message: ChangeMessage): readonly string[] {
  const payloads: string[] = [];
  const room = maxPayloadBytes - Buffer.byteLength(payloadOf(message.from, []));
  let part: string[] = [];
  let size = 0;
  for (const change of message.changes) {
    const text = JSON.stringify(change);
    const length = Buffer.byteLength(text) + 1;
    if (length > room || payloads.length === maxPayloads)
      return [payloadOf(message.from, [JSON.stringify(unknownChange[0])])];
    if (size + length > room) {
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

/** The changes that a text tells of. What cannot be read means that something changed. */
export function changesFromPayload(payload: string): ChangeMessage {
  try {
    const message: unknown = JSON.parse(payload);
    if (isChangeMessage(message)) return message;
  } catch {
    // Not one of ours, or from another version of this package.
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
