import type { PublicationRecord } from '@agentlightning/core/protocol';
import type { InferenceEndpoint } from '@agentlightning/core/training-runtime';

/** Number of publications that the state of a run keeps. */
const keptPublications = 50;

/** What the endpoint of a policy reported after a publication. */
export function publicationOf(
  { policyVersion, weights }: InferenceEndpoint,
  times: { readonly startMs: number; readonly endMs: number },
): Omit<PublicationRecord, 'step' | 'policy'> {
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
export function withPublications(
  known: readonly PublicationRecord[],
  added: readonly PublicationRecord[],
): readonly PublicationRecord[] {
  return [...known, ...added].slice(-keptPublications);
}
