import { create } from '@bufbuild/protobuf';
import { type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';

/** Unix milliseconds, fractions included, as a moment on the wire. */
export function toTimestamp(unixMs: number): Timestamp {
  const seconds = Math.floor(unixMs / 1000);
  const nanos = Math.floor((unixMs - seconds * 1000) * 1e6);
  return create(TimestampSchema, { seconds: BigInt(seconds), nanos });
}

/** A moment on the wire as Unix milliseconds; 0 when there is none. */
export function fromTimestamp(timestamp: Timestamp | undefined): number {
  return timestamp === undefined ? 0 : Number(timestamp.seconds) * 1000 + timestamp.nanos / 1e6;
}
