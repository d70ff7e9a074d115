/** The kinds of ids of the store protocol, each with its prefix. */
export type IdKind = 'rollout' | 'attempt' | 'resources' | 'run' | 'worker';

const shapes: Record<IdKind, { readonly prefix: string; readonly hexDigits: number }> = {
  rollout: { prefix: 'ro-', hexDigits: 12 },
  attempt: { prefix: 'at-', hexDigits: 8 },
  resources: { prefix: 'rs-', hexDigits: 12 },
  run: { prefix: 'run-', hexDigits: 8 },
  worker: { prefix: 'wk-', hexDigits: 8 },
};

/** A new random id of a kind: `ro-` and 12 hex digits for a rollout, as the store protocol has it. */
export function newId(kind: IdKind): string {
  const { prefix, hexDigits } = shapes[kind];
  return prefix + randomHex(hexDigits);
}

/** A new OpenTelemetry trace id: 32 hex digits. */
export function newTraceId(): string {
  return randomHex(32);
}

/** A new OpenTelemetry span id: 16 hex digits. */
export function newSpanId(): string {
  return randomHex(16);
}

// Random bytes are fetched in blocks, because a request is expensive; each byte is used once.
const entropy = new Uint8Array(2048);
let entropyUsed = entropy.length;

const hexOfByte: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

function randomHex(digits: number): string {
  const size = Math.ceil(digits / 2);
  if (entropyUsed + size > entropy.length) {
    crypto.getRandomValues(entropy);
    entropyUsed = 0;
  }
  let text = '';
  for (let index = entropyUsed; index < entropyUsed + size; index += 1) text += hexOfByte[entropy[index] ?? 0];
  entropyUsed += size;
  return text.slice(0, digits);
}
