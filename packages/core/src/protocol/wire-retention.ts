import { z } from 'zod';
import type { RetentionPolicy, RetentionPreview } from '../store/retention.ts';
import { present } from './present.ts';
import { deletionCountsShape } from './wire-deletion.ts';
import { msFromSeconds, secondsFromMs } from './wire-time.ts';

/** A retention policy on the wire. */
export const retentionPolicyCodec: z.ZodType<RetentionPolicy> = z.codec(
  z.object({ older_than_seconds: z.number().nullish(), keep_runs: z.number().nullish() }),
  z.custom<RetentionPolicy>(),
  {
    decode: ({ older_than_seconds: seconds, keep_runs: keepRuns }) =>
      present({ olderThanMs: typeof seconds === 'number' ? msFromSeconds(seconds) : null, keepRuns }),
    encode: ({ olderThanMs, keepRuns }) => ({
      older_than_seconds: olderThanMs === undefined ? undefined : secondsFromMs(olderThanMs),
      keep_runs: keepRuns,
    }),
  },
);

/** A retention preview on the wire. */
export const retentionPreviewCodec: z.ZodType<RetentionPreview> = z.codec(
  z.object({ ...deletionCountsShape, run_ids: z.array(z.string()) }),
  z.custom<RetentionPreview>(),
  {
    decode: ({ run_ids, ...counts }) => ({ ...counts, runIds: run_ids }),
    encode: ({ runIds, ...counts }) => ({ ...counts, run_ids: [...runIds] }),
  },
);
