import { AgentLightningError, NotFoundError } from '@agentlightning/core';
import {
  type AttemptTokens,
  attemptTokenRevocationSchema,
  attemptTokenToWire,
  isRewardedByEvaluator,
  wireAttemptTokenRequestSchema,
} from '@agentlightning/core/protocol';
import type { Hono } from 'hono';
import { answerJson } from '../answer.ts';
import { readBody, readOptionalBody } from '../request-body.ts';
import type { StoreRouteOptions } from '../store-route.ts';

/** Attempt tokens for agents, an extension of the Agent Lightning 0.3 protocol. */
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

  app.get('/revocations/tokens', async (context) =>
    answerJson(context, { digests: [...(await store.revokedAttemptTokens())] }),
  );

  app.post('/revocations/tokens', async (context) => {
    const { token } = await readBody(context, attemptTokenRevocationSchema);
    await store.revokeAttemptToken(token);
    return answerJson(context, { digests: [...(await store.revokedAttemptTokens())] });
  });
}

function noSecret(): AttemptTokens {
  throw new AgentLightningError({
    code: 'PERMISSION_DENIED',
    message: 'This store cannot create attempt tokens: it has no signing secret',
    remedy: 'Start it with the AGL_TOKEN_SECRET of the gateway; `openssl rand -base64 32` creates one.',
  });
}
