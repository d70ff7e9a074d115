import { AgentLightningError, ValidationError } from '@agentlightning/core';
import { AttemptTokens, attemptTokenDigest } from '@agentlightning/core/protocol';
import type { OperationContext } from '../sql/operation.ts';
import { readText } from '../sql/row-value.ts';

/**
 * Adds an attempt token to the revoked ones until it expires, and deletes those that have expired.
 *
 * @throws ValidationError when the text has not the form of a token
 */
export async function revokeAttemptToken(context: OperationContext, token: string): Promise<void> {
  const { expiresAtMs } = claimsOf(token);
  await context.db.run('DELETE FROM revoked_tokens WHERE expire_time_ms <= ?', [context.nowMs]);
  if (expiresAtMs <= context.nowMs) return;
  await context.db.run(
    'INSERT INTO revoked_tokens (token_digest, expire_time_ms) VALUES (?, ?) ON CONFLICT (token_digest) DO NOTHING',
    [await attemptTokenDigest(token), expiresAtMs],
  );
}

/** The digests of the revoked tokens that have not expired. */
export async function revokedAttemptTokens(context: OperationContext): Promise<readonly string[]> {
  const rows = await context.db.all(
    'SELECT token_digest FROM revoked_tokens WHERE expire_time_ms > ? ORDER BY token_digest',
    [context.nowMs],
  );
  return rows.map((row) => readText(row, 'token_digest'));
}

function claimsOf(token: string): ReturnType<typeof AttemptTokens.uncheckedClaims> {
  try {
    return AttemptTokens.uncheckedClaims(token);
  } catch (error) {
    if (!AgentLightningError.isInstance(error)) throw error;
    const message = 'is not a token of an attempt. Pass the whole token, beginning with aglat.';
    throw new ValidationError('Token', [{ path: 'token', message }], error);
  }
}
