import { create } from '@bufbuild/protobuf';
import { type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';

/** Converts Unix milliseconds, fractions included, to a protobuf timestamp. */
export function toTimestamp(unixMs: number): Timestamp {
  const seconds = Math.floor(unixMs / 1000);
  const nanos = Math.floor((unixMs - seconds * 1000) * 1e6);
  return create(TimestampSchema, { seconds: BigInt(seconds), nanos });
}

/** Converts a protobuf timestamp to Unix milliseconds; 0 when absent. */
export function fromTimestamp(timestamp: Timestamp | undefined): number {
  return timestamp === undefined ? 0 : Number(timestamp.seconds) * 1000 + timestamp.nanos / 1e6;
}
