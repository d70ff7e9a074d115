/** Where a stream's bytes come from. */
export interface StreamSource {
  /** The next text to send; null at the end. Called only when the reader is ready for more. */
  next(): Promise<string | Uint8Array | null>;
  /** The reader has gone. */
  cancelled(): void;
}

/** A stream that reads its source only as fast as its reader reads: nothing piles up in between. */
export function pulledStream(source: StreamSource): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const part = await source.next();
        if (part === null) controller.close();
        else controller.enqueue(typeof part === 'string' ? encoder.encode(part) : part);
      },
      cancel() {
        source.cancelled();
      },
    },
    { highWaterMark: 0 },
  );
}
