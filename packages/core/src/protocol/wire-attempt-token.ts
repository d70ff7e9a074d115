import { z } from 'zod';
import type { AttemptClaims } from './attempt-token.ts';
import { secondsFromMs } from './wire-time.ts';

/** What a token of an attempt is asked for. */
export interface WireAttemptTokenRequest {
  readonly may_reward?: boolean | undefined;
  readonly lifetime_seconds?: number | undefined;
}

/** The shape of {@link WireAttemptTokenRequest}. A token lives a month at most. */
export const wireAttemptTokenRequestSchema: z.ZodType<WireAttemptTokenRequest> = z.object({
  may_reward: z.boolean().optional(),
  lifetime_seconds: z
    .number()
    .positive()
    .max(30 * 86_400)
    .optional(),
});

/** A token of an attempt. */
export interface WireAttemptToken {
  readonly token: string;
  /** Whether its bearer may record rewards. */
  readonly may_reward: boolean;
  readonly expires_at: number;
}

/** The shape of {@link WireAttemptToken}. */
export const wireAttemptTokenSchema: z.ZodType<WireAttemptToken> = z.object({
  token: z.string(),
  may_reward: z.boolean(),
  expires_at: z.number(),
});

/** The token to revoke, on the wire. */
export const attemptTokenRevocationSchema: z.ZodType<{ readonly token: string }> = z.object({
  token: z.string().min(1),
});

/** The SHA-256 digests of the revoked tokens that have not expired, on the wire. */
export const revokedAttemptTokensSchema: z.ZodType<{ readonly digests: readonly string[] }> = z.object({
  digests: z.array(z.string()),
});

/** A token of an attempt, for the wire. */
export function attemptTokenToWire(token: string, { mayReward, expiresAtMs }: AttemptClaims): WireAttemptToken {
  return { token, may_reward: mayReward, expires_at: secondsFromMs(expiresAtMs) };
}
