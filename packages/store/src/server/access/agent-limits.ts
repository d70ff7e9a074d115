import { AgentLightningError, type SpanInput } from '@agentlightning/core';
import {
  type AttemptClaims,
  isReservedAttribute,
  isRewardedByEvaluator,
  lateRewardRefusal,
  rewardSourceKey,
} from '@agentlightning/core/protocol';
import { rewardFromSpan } from '@agentlightning/core/spans';
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
 * Lets an agent record spans of its own attempt only, no model calls that could be trained on, and no rewards where they
 * come from an evaluator or its attempt has ended.
 *
 * @throws AgentLightningError PERMISSION_DENIED, ILLEGAL_TRANSITION; then none is recorded
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
    const reserved = Object.keys(span.attributes).find(isReservedAttribute);
    if (!isOwn(agent, span))
      refused.set(span, notYours(agent, `attempt ${span.attemptId} of rollout ${span.rolloutId}`));
    else if (reserved !== undefined) refused.set(span, reservedAttribute(agent, span, reserved));
    else if (rewardFromSpan({ ...span, sequenceId: 0 }) !== null) rewards.push(span);
  }
  if (rewards.length === 0) return refused;
  const refusalOf = await rewardRefusal(agent, store);
  for (const span of rewards) {
    const refusal = refusalOf(span);
    if (refusal !== null) refused.set(span, refusal);
  }
  return refused;
}

/** Why an agent may not record a reward now: another one judges its rollout, or its attempt has ended. */
async function rewardRefusal(
  agent: AttemptClaims,
  store: SqlStore,
): Promise<(span: SpanInput) => AgentLightningError | null> {
  if (!agent.mayReward || isRewardedByEvaluator(await store.getRollout(agent.rolloutId))) {
    return (span) => notYourReward(agent, span);
  }
  const { items } = await store.queryAttempts(agent.rolloutId);
  const attempt = items.find(({ attemptId }) => attemptId === agent.attemptId);
  // The store itself refuses spans of an attempt that it does not have.
  const late = attempt === undefined ? null : lateRewardRefusal(attempt);
  return () => late;
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

function reservedAttribute(agent: AttemptClaims, span: SpanInput, name: string): AgentLightningError {
  return new AgentLightningError({
    code: 'PERMISSION_DENIED',
    message: `Span ${span.name} has the reserved attribute ${name}, which a token of an attempt may not record`,
    remedy:
      'Send model calls through the gateway, which records them; a key with the scope runner may record the span.',
    details: { rolloutId: agent.rolloutId, attemptId: agent.attemptId, spanId: span.spanId, attribute: name },
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
