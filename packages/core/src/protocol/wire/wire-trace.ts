import * as z from 'zod';
import { maxTraceRollouts, type RolloutTrace } from '../../store/rollout-trace.ts';
import { attemptCodec } from './wire-attempt.ts';
import { fieldCodec, recordCodec } from './wire-fields.ts';
import { spanCodec } from './wire-span.ts';

/** The rollouts whose traces are read, in one object. */
export const traceQueryCodec: z.ZodType<readonly string[]> = fieldCodec(
  'rollout_ids',
  z.array(z.string()).min(1).max(maxTraceRollouts),
);

const traceCodec: z.ZodType<RolloutTrace> = recordCodec<RolloutTrace>({
  rolloutId: ['rollout_id', z.string()],
  attempt: ['attempt', attemptCodec.nullable()],
  spans: ['spans', z.array(spanCodec)],
});

/** The traces of the first of the rollouts, in one object. */
export const tracesCodec: z.ZodType<readonly RolloutTrace[]> = fieldCodec('items', z.array(traceCodec));
