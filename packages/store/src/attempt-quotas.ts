import { AgentLightningError, type SpanInput, ValidationError } from '@agentlightning/core';
import { agentLightningAttributes } from '@agentlightning/core/spans';
import type { SpanRow } from './rows/span-row.ts';

/** Limits of an attempt. A request that exceeds one fails with QUOTA_EXCEEDED and records nothing. */
export interface AttemptQuotas {
  /** Spans of an attempt. @default 100000 */
  readonly maxAttemptSpans: number;
  /** Bytes of all spans of an attempt for a reader: an image counts in each. @default 268435456 256 MiB */
  readonly maxAttemptBytes: number;
  /** Bytes of one span for a reader. @default 8388608 8 MiB */
  readonly maxSpanBytes: number;
  /** Events of one span. @default 1000 */
  readonly maxSpanEvents: number;
  /** Dimensions of one reward. @default 100 */
  readonly maxRewardDimensions: number;
}

const defaultQuotas: AttemptQuotas = {
  maxAttemptSpans: 100_000,
  maxAttemptBytes: 256 * 2 ** 20,
  maxSpanBytes: 8 * 2 ** 20,
  maxSpanEvents: 1000,
  maxRewardDimensions: 100,
};

/**
 * Returns the quotas, with defaults for missing ones.
 *
 * @throws ValidationError when a quota is not a positive integer
 */
export function resolveQuotas(given: Partial<AttemptQuotas>): AttemptQuotas {
  const quotas = { ...defaultQuotas, ...given };
  const issues = Object.entries(quotas)
    .filter(([, limit]) => !Number.isSafeInteger(limit) || limit < 1)
    .map(([name, limit]) => ({ path: `quotas.${name}`, message: `must be a positive integer, got ${limit}` }));
  if (issues.length > 0) throw new ValidationError('Store options', issues);
  return quotas;
}

/** Bytes of a span with its contents, such as images, and without indexes. */
export function bytesOf(row: SpanRow): number {
  return row.reduce<number>((sum, value) => sum + (typeof value === 'string' ? Buffer.byteLength(value) : 8), 0);
}

/**
 * Checks the quotas of a single span.
 *
 * @throws AgentLightningError QUOTA_EXCEEDED
 */
export function assertSpanQuotas(quotas: AttemptQuotas, span: SpanInput, bytes: number): void {
  const subject = `span ${span.spanId} of attempt ${span.attemptId} of rollout ${span.rolloutId}`;
  assertWithin(quotas, 'maxSpanBytes', { subject, actual: bytes });
  assertWithin(quotas, 'maxSpanEvents', { subject, actual: span.events.length });
  assertWithin(quotas, 'maxRewardDimensions', { subject, actual: rewardDimensions(span) });
}

/**
 * Checks a total against its quota.
 *
 * @throws AgentLightningError QUOTA_EXCEEDED
 */
export function assertWithin(
  quotas: AttemptQuotas,
  quota: keyof AttemptQuotas,
  { subject, actual }: { readonly subject: string; readonly actual: number },
): void {
  const limit = quotas[quota];
  if (actual <= limit) return;
  const flag = quota.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw new AgentLightningError({
    code: 'QUOTA_EXCEEDED',
    message: `Quota ${quota} exceeded: ${actual} of at most ${limit} for ${subject}`,
    remedy: `Record less, or raise the quota: quotas.${quota} of openStore, or agl store --${flag}.`,
    details: { quota, limit, actual },
  });
}

const rewardPrefix = `${agentLightningAttributes.reward}.`;

/** Number of dimensions of a reward: the distinct indexes among its attributes. */
function rewardDimensions({ attributes }: SpanInput): number {
  const indexes = new Set<string>();
  for (const name of Object.keys(attributes)) {
    if (name.startsWith(rewardPrefix)) indexes.add(name.slice(rewardPrefix.length).split('.', 1)[0] ?? '');
  }
  return indexes.size;
}
