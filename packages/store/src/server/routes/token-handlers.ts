import { AgentLightningError, NotFoundError } from '@agentlightning/core';
import { type AttemptTokens, isRewardedByEvaluator, specialRoutes } from '@agentlightning/core/protocol';
import { readInput } from '../request-input.ts';
import { idsOf, outputResponse, type SpecialHandlers, type StoreRouteOptions } from '../route-handler.ts';

const { createAttemptToken, revokeAttemptToken } = specialRoutes;

/** Creates and revokes attempt tokens for agents. */
export function tokenHandlers({
  project,
  store,
  attemptTokens,
}: StoreRouteOptions): Pick<SpecialHandlers, 'createAttemptToken' | 'revokeAttemptToken'> {
  return {
    createAttemptToken: async (context) => {
      const { mayReward = true, ...lifetime } = await readInput(context, createAttemptToken);
      const [rolloutId = '', attemptId = ''] = idsOf(context, createAttemptToken);
      const tokens = attemptTokens ?? noSecret();
      const rollout = await store.getRollout(rolloutId);
      const { items } = await store.queryAttempts(rolloutId);
      if (!items.some((attempt) => attempt.attemptId === attemptId)) throw new NotFoundError('Attempt', attemptId);
      const token = await tokens.create({
        project,
        rolloutId,
        attemptId,
        mayReward: mayReward && !isRewardedByEvaluator(rollout),
        ...lifetime,
      });
      return outputResponse(context, createAttemptToken, { token, ...(await tokens.verify(token)) });
    },

    revokeAttemptToken: async (context) => {
      await store.revokeAttemptToken(await readInput(context, revokeAttemptToken));
      return outputResponse(context, revokeAttemptToken, await store.revokedAttemptTokens());
    },
  };
}

function noSecret(): AttemptTokens {
  throw new AgentLightningError({
    code: 'PERMISSION_DENIED',
    message: 'This store cannot create attempt tokens: it has no signing secret',
    remedy: 'Start it with the AGL_TOKEN_SECRET of the gateway; `openssl rand -base64 32` creates one.',
  });
}
