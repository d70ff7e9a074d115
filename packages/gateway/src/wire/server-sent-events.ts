import { createParser } from 'eventsource-parser';

/** An entry in a stream of server-sent events. */
export type StreamEntry =
  | { readonly kind: 'event'; readonly event: string | undefined; readonly data: string }
  | { readonly kind: 'comment'; readonly text: string };

/** Parses server-sent events incrementally; chunks may end anywhere, also within a character. */
export class EventStreamReader {
  readonly #decoder = new TextDecoder();
  readonly #entries: StreamEntry[] = [];
  readonly #parser = createParser({
    onEvent: ({ event, data }) => this.#entries.push({ kind: 'event', event, data }),
    onComment: (text) => this.#entries.push({ kind: 'comment', text }),
  });

  /** The entries that these bytes complete. */
  read(bytes: Uint8Array): readonly StreamEntry[] {
    this.#parser.feed(this.#decoder.decode(bytes, { stream: true }));
    return this.#entries.splice(0);
  }
}

/** Serializes an entry. */
export function writeEntry(entry: StreamEntry): string {
  if (entry.kind === 'comment') return `: ${entry.text.trimStart()}\n\n`;
  const name = entry.event === undefined ? '' : `event: ${entry.event}\n`;
  return `${name}data: ${entry.data.replaceAll('\n', '\ndata: ')}\n\n`;
}
