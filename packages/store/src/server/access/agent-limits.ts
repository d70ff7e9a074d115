import { AgentLightningError, type SpanInput } from '@agentlightning/core';
import {
  type AttemptClaims,
  isRewardedByEvaluator,
  lateRewardRefusal,
  restrictedContentOf,
  rewardSourceKey,
} from '@agentlightning/core/protocol';
import type { Context } from 'hono';
import type { SqlStore } from '../../sql-store.ts';
import { bearerOf } from './bearer.ts';

/** The ids of an attempt. */
interface AttemptIds {
  readonly rolloutId: string;
  readonly attemptId: string;
}

/** The attempt claims of an agent's request; null for other senders, which these limits do not concern. */
export function agentOf(context: Context): AttemptClaims | null {
  const bearer = bearerOf(context);
  return bearer.kind === 'agent' ? bearer.claims : null;
}

/**
 * Restricts an agent to reading its rollout.
 *
 * @throws AgentLightningError PERMISSION_DENIED
 */
export function assertOwnRollout(context: Context, rolloutId: string): void {
  const agent = agentOf(context);
  if (agent !== null && agent.rolloutId !== rolloutId) throw outOfScope(agent, `rollout ${rolloutId}`);
}

/**
 * Restricts an agent to its attempt.
 *
 * @throws AgentLightningError PERMISSION_DENIED
 */
export function assertOwnAttempts(context: Context, attempts: readonly AttemptIds[]): void {
  const agent = agentOf(context);
  if (agent === null) return;
  const foreign = attempts.find((attempt) => !isOwn(agent, attempt));
  if (foreign !== undefined) throw outOfScope(agent, `attempt ${foreign.attemptId} of rollout ${foreign.rolloutId}`);
}

/**
 * Restricts an agent to reading the resources of its rollout.
 *
 * @throws AgentLightningError PERMISSION_DENIED
 */
export async function assertOwnResources(context: Context, store: SqlStore, resourcesId: string): Promise<void> {
  const agent = agentOf(context);
  if (agent === null) return;
  const rollout = await store.getRollout(agent.rolloutId);
  if (rollout.resourcesId !== resourcesId) throw outOfScope(agent, `resources ${resourcesId}`);
}

/**
 * Restricts an agent to spans of its attempt, without model calls, and without rewards after the end of its attempt or
 * when an evaluator records them.
 *
 * @throws AgentLightningError PERMISSION_DENIED, ILLEGAL_TRANSITION; then none is recorded
 */
export async function assertMayAppend(context: Context, store: SqlStore, spans: readonly SpanInput[]): Promise<void> {
  const [refusal] = (await refusedSpans(context, store, spans)).values();
  if (refusal !== undefined) throw refusal;
}

/** The spans that a request may not record, with the reasons. */
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
    const { reserved, isReward } = restrictedContentOf(span);
    if (!isOwn(agent, span))
      refused.set(span, outOfScope(agent, `attempt ${span.attemptId} of rollout ${span.rolloutId}`));
    else if (reserved !== null) refused.set(span, reservedAttribute(agent, span, reserved));
    else if (isReward) rewards.push(span);
  }
  if (rewards.length === 0) return refused;
  const refusalOf = await rewardRefusal(agent, store);
  for (const span of rewards) {
    const refusal = refusalOf(span);
    if (refusal !== null) refused.set(span, refusal);
  }
  return refused;
}

/** The reason to reject a reward: an evaluator records it, or the attempt has ended. */
async function rewardRefusal(
  agent: AttemptClaims,
  store: SqlStore,
): Promise<(span: SpanInput) => AgentLightningError | null> {
  if (!agent.mayReward || isRewardedByEvaluator(await store.getRollout(agent.rolloutId))) {
    return (span) => notYourReward(agent, span);
  }
  const { items } = await store.queryAttempts(agent.rolloutId);
  const attempt = items.find(({ attemptId }) => attemptId === agent.attemptId);
  // The store rejects spans of unknown attempts.
  const late = attempt === undefined ? null : lateRewardRefusal(attempt);
  return () => late;
}

function isOwn(agent: AttemptClaims, { rolloutId, attemptId }: AttemptIds): boolean {
  return rolloutId === agent.rolloutId && attemptId === agent.attemptId;
}

function outOfScope(agent: AttemptClaims, what: string): AgentLightningError {
  return new AgentLightningError({
    code: 'PERMISSION_DENIED',
    message: `The token is for attempt ${agent.attemptId} of rollout ${agent.rolloutId}, not for ${what}`,
    remedy: 'Use the token of that attempt, or a key with the role worker.',
    details: { rolloutId: agent.rolloutId, attemptId: agent.attemptId },
  });
}

function reservedAttribute(agent: AttemptClaims, span: SpanInput, name: string): AgentLightningError {
  return new AgentLightningError({
    code: 'PERMISSION_DENIED',
    message: `Span ${span.name} has the reserved attribute ${name}, which a token of an attempt may not record`,
    remedy: 'Send model calls through the gateway, which records them; a key with the role worker may record the span.',
    details: { rolloutId: agent.rolloutId, attemptId: agent.attemptId, spanId: span.spanId, attribute: name },
  });
}

function notYourReward(agent: AttemptClaims, span: SpanInput): AgentLightningError {
  return new AgentLightningError({
    code: 'PERMISSION_DENIED',
    message: `Span ${span.name} is a reward, and those of rollout ${agent.rolloutId} come from its evaluator`,
    remedy: `Record it in the evaluator with a separate key; the rollout's metadata requires it (${rewardSourceKey}).`,
    details: { rolloutId: agent.rolloutId, attemptId: agent.attemptId, spanId: span.spanId },
  });
}
