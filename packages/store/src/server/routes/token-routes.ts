import { AgentLightningError, NotFoundError } from '@agentlightning/core';
import {
  type AttemptTokens,
  attemptTokenToWire,
  isRewardedByEvaluator,
  wireAttemptTokenRequestSchema,
} from '@agentlightning/core/protocol';
import type { Hono } from 'hono';
import { answerJson } from '../answer.ts';
import { readOptionalBody } from '../request-body.ts';
import type { StoreRouteOptions } from '../store-route.ts';

/** Keys for agents, each for one attempt, which the protocol of Agent Lightning 0.3 does not have. */
export function addTokenRoutes(app: Hono, { store, attemptTokens }: StoreRouteOptions): void {
  app.post('/rollouts/:rolloutId/attempts/:attemptId/token', async (context) => {
    const { may_reward = true, lifetime_seconds } = await readOptionalBody(context, wireAttemptTokenRequestSchema);
    const { rolloutId, attemptId } = context.req.param();
    const tokens = attemptTokens ?? noSecret();
    const rollout = await store.getRollout(rolloutId);
    const attempts = await store.queryAttempts(rolloutId);
    if (!attempts.items.some((attempt) => attempt.attemptId === attemptId))
      throw new NotFoundError('Attempt', attemptId);
    const token = await tokens.create({
      rolloutId,
      attemptId,
      mayReward: may_reward && !isRewardedByEvaluator(rollout),
      ...(lifetime_seconds === undefined ? {} : { lifetimeMs: lifetime_seconds * 1000 }),
    });
    return answerJson(context, attemptTokenToWire(token, await tokens.verify(token)), 201);
  });
}

function noSecret(): AttemptTokens {
  throw new AgentLightningError({
    code: 'PERMISSION_DENIED',
    message: 'This store makes no tokens for attempts: it has no secret to sign them with',
    remedy: 'Start it with AGL_TOKEN_SECRET, the same as the gateway: `openssl rand -base64 32` makes one.',
  });
}
