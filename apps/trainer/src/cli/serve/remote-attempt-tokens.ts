import { AgentLightningError } from '@agentlightning/core';
import { type AttemptClaims, AttemptTokens } from '@agentlightning/core/protocol';
import { StoreClient } from '@agentlightning/core/store-client';
import type { AttemptTokenVerifier } from '@agentlightning/gateway';
import { areInsecureKeysAllowed } from '../../config/environment.ts';

/** The most tokens in memory; the oldest is verified again. */
const maxVerified = 1000;

/** Verifies attempt tokens without their secret: the store server that signed them accepts a token for its rollout only. */
export function tokensOfStoreServer(url: string): AttemptTokenVerifier {
  const verified = new Map<string, AttemptClaims>();
  return {
    verify: async (token) => {
      const claims = verified.get(token) ?? (await verifyAtServer(url, token));
      if (claims.expiresAtMs <= Date.now()) throw expired(claims);
      verified.set(token, claims);
      const [oldest] = verified.keys();
      if (verified.size > maxVerified && oldest !== undefined) verified.delete(oldest);
      return claims;
    },
  };
}

async function verifyAtServer(url: string, token: string): Promise<AttemptClaims> {
  const claims = AttemptTokens.uncheckedClaims(token);
  const store = new StoreClient({ baseUrl: url, apiKey: token, allowInsecureKey: areInsecureKeysAllowed() });
  try {
    await store.getRollout(claims.rolloutId);
    return claims;
  } finally {
    await store.close();
  }
}

function expired({ attemptId }: AttemptClaims): AgentLightningError {
  return new AgentLightningError({
    code: 'UNAUTHENTICATED',
    message: `The token of attempt ${attemptId} has expired`,
    remedy: 'Request a new token for the attempt from the store.',
  });
}
