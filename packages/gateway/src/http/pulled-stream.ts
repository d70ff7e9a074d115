import type { CallSignal } from '../call-signal.ts';
import { GatewayError } from '../gateway-error.ts';

/** Where a stream's bytes come from. */
export interface StreamSource {
  /** The next text to send; null at the end. Called only when the reader is ready for more. */
  next(): Promise<string | Uint8Array | null>;
  /** The reader has gone. */
  cancelled(): void;
}

/** A source that the gateway itself can end. */
export interface CutSource extends StreamSource {
  /** Ends the stream; its reader is told why, when it reads on. */
  cut(error: GatewayError): void;
}

/** Ends a stream with its call: with the caller, who has gone, or with what the gateway has to say. */
export function endWith(signal: CallSignal, source: CutSource): void {
  signal.onAbort(() => {
    if (signal.reason instanceof GatewayError) source.cut(signal.reason);
    else source.cancelled();
  });
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
