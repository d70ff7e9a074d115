import * as z from 'zod';

/** A publication of weights to the inference endpoint of a policy, as the state of a run records it. */
export interface PublicationRecord {
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

/** The publications in the state of a run, in order. */
// Marked as pure: a bundle that does not read publications leaves out the schema, and zod with it.
export const publicationRecordsSchema: z.ZodType<readonly PublicationRecord[]> = /* @__PURE__ */ (() =>
  z.array(
    z.object({
      step: z.int(),
      policy: z.string().nullable(),
      version: z.int(),
      timeMs: z.number(),
      durationMs: z.number(),
      digest: z.string().nullable(),
      probe: z.object({ gap: z.number(), limit: z.number(), tokens: z.int() }).nullable(),
    }),
  ))();
