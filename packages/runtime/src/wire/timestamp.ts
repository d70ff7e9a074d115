import { create } from '@bufbuild/protobuf';
import { type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';

/** Unix milliseconds, fractions included, as a moment on the wire. */
export function toTimestamp(unixMs: number): Timestamp {
  const seconds = Math.floor(unixMs / 1000);
  const nanos = Math.floor((unixMs - seconds * 1000) * 1e6);
  return create(TimestampSchema, { seconds: BigInt(seconds), nanos });
}
