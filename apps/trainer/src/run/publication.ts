import type { InferenceEndpoint } from '@agentlightning/core/training-runtime';
import { z } from 'zod';

/** A publication of weights to the inference endpoint of a policy. */
export interface Publication {
  readonly step: number;
  /** Null for a single policy. */
  readonly policy: string | null;
  /** The published policy version. */
  readonly version: number;
  /** End of the publication in Unix milliseconds. */
  readonly timeMs: number;
  /** Duration in milliseconds; new model calls wait meanwhile. */
  readonly durationMs: number;
  /** Digest of the weights; null when the runtime reports none. */
  readonly digest: string | null;
  /** The comparison of sampler and trainer, in nats per token; null when the runtime does not compare them. */
  readonly probe: { readonly gap: number; readonly limit: number; readonly tokens: number } | null;
}

/** Number of publications that the state of a run keeps. */
const keptPublications = 50;

/** The publications in the state of a run, in order. */
export const publicationsSchema: z.ZodType<readonly Publication[]> = z.array(
  z.object({
    step: z.int(),
    policy: z.string().nullable(),
    version: z.int(),
    timeMs: z.number(),
    durationMs: z.number(),
    digest: z.string().nullable(),
    probe: z.object({ gap: z.number(), limit: z.number(), tokens: z.int() }).nullable(),
  }),
);

/** What the endpoint of a policy reported after a publication. */
export function publicationOf(
  { policyVersion, weights }: InferenceEndpoint,
  times: { readonly startMs: number; readonly endMs: number },
): Omit<Publication, 'step' | 'policy'> {
  const probe = weights?.probe;
  return {
    version: policyVersion,
    timeMs: times.endMs,
    durationMs: times.endMs - times.startMs,
    digest: weights?.digest ?? null,
    probe: probe === undefined ? null : { gap: probe.logprobGap, limit: probe.maxLogprobGap, tokens: probe.tokens },
  };
}

/** The last publications of a run, with those of a further step. */
export function withPublications(known: readonly Publication[], added: readonly Publication[]): readonly Publication[] {
  return [...known, ...added].slice(-keptPublications);
}
