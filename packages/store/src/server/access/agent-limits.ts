import { AgentLightningError, rewardFromSpan, type SpanInput } from '@agentlightning/core';
import { type AttemptClaims, isRewardedByEvaluator, rewardSourceKey } from '@agentlightning/core/protocol';
import type { Context } from 'hono';
import type { SqlStore } from '../../sql-store.ts';
import { bearerOf } from './bearer.ts';

/** An attempt by its ids. */
interface AttemptIds {
  readonly rolloutId: string;
  readonly attemptId: string;
}

/** What the token of a request says, when an agent sent it; null for everybody else, whom nothing here concerns. */
export function agentOf(context: Context): AttemptClaims | null {
  const bearer = bearerOf(context);
  return bearer.kind === 'agent' ? bearer.claims : null;
}

/**
 * Lets an agent read of its own rollout only.
 *
 * @throws AgentLightningError PERMISSION_DENIED
 */
export function assertOwnRollout(context: Context, rolloutId: string): void {
  const agent = agentOf(context);
  if (agent !== null && agent.rolloutId !== rolloutId) throw notYours(agent, `rollout ${rolloutId}`);
}

/**
 * Lets an agent name its own attempt only.
 *
 * @throws AgentLightningError PERMISSION_DENIED
 */
export function assertOwnAttempts(context: Context, attempts: readonly AttemptIds[]): void {
  const agent = agentOf(context);
  if (agent === null) return;
  const foreign = attempts.find((attempt) => !isOwn(agent, attempt));
  if (foreign !== undefined) throw notYours(agent, `attempt ${foreign.attemptId} of rollout ${foreign.rolloutId}`);
}

/**
 * Lets an agent read only the resources that its rollout runs with.
 *
 * @throws AgentLightningError PERMISSION_DENIED
 */
export async function assertOwnResources(context: Context, store: SqlStore, resourcesId: string): Promise<void> {
  const agent = agentOf(context);
  if (agent === null) return;
  const rollout = await store.getRollout(agent.rolloutId);
  if (rollout.resourcesId !== resourcesId) throw notYours(agent, `resources ${resourcesId}`);
}

/**
 * Lets an agent record spans of its own attempt only, and no rewards where they come from an evaluator.
 *
 * @throws AgentLightningError PERMISSION_DENIED; then none is recorded
 */
export async function assertMayAppend(context: Context, store: SqlStore, spans: readonly SpanInput[]): Promise<void> {
  const [refusal] = (await refusedSpans(context, store, spans)).values();
  if (refusal !== undefined) throw refusal;
}

/** The spans that a request may not record, each with the reason. */
export async function refusedSpans(
  context: Context,
  store: SqlStore,
  spans: readonly SpanInput[],
): Promise<ReadonlyMap<SpanInput, AgentLightningError>> {
  const refused = new Map<SpanInput, AgentLightningError>();
  const agent = agentOf(context);
  if (agent === null) return refused;
  const rewards: SpanInput[] = [];
  for (const span of spans) {
    if (!isOwn(agent, span))
      refused.set(span, notYours(agent, `attempt ${span.attemptId} of rollout ${span.rolloutId}`));
    else if (rewardFromSpan({ ...span, sequenceId: 0 }) !== null) rewards.push(span);
  }
  if (rewards.length > 0 && !(await mayReward(agent, store))) {
    for (const span of rewards) refused.set(span, notYourReward(agent, span));
  }
  return refused;
}

async function mayReward(agent: AttemptClaims, store: SqlStore): Promise<boolean> {
  return agent.mayReward && !isRewardedByEvaluator(await store.getRollout(agent.rolloutId));
}

function isOwn(agent: AttemptClaims, { rolloutId, attemptId }: AttemptIds): boolean {
  return rolloutId === agent.rolloutId && attemptId === agent.attemptId;
}

function notYours(agent: AttemptClaims, what: string): AgentLightningError {
  return new AgentLightningError({
    code: 'PERMISSION_DENIED',
    message: `The token is for attempt ${agent.attemptId} of rollout ${agent.rolloutId}, not for ${what}`,
    remedy: 'Use the token of that attempt, or a key with the scope runner.',
    details: { rolloutId: agent.rolloutId, attemptId: agent.attemptId },
  });
}

function notYourReward(agent: AttemptClaims, span: SpanInput): AgentLightningError {
  return new AgentLightningError({
    code: 'PERMISSION_DENIED',
    message: `Span ${span.name} is a reward, and those of rollout ${agent.rolloutId} come from its evaluator`,
    remedy: `Let the evaluator record it with a key of its own; the rollout's metadata says so (${rewardSourceKey}).`,
    details: { rolloutId: agent.rolloutId, attemptId: agent.attemptId, spanId: span.spanId },
  });
}
