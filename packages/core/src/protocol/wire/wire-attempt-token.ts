import * as z from 'zod';
import type { AttemptTokenRequest } from '../access/attempt-token.ts';
import { fieldCodec, optionsCodec, recordCodec, seconds, secondsOf } from './wire-fields.ts';

/** Maximum lifetime of an attempt token: 30 days. */
const maxLifetimeSeconds = 30 * 86_400;

/** Options of a requested attempt token. */
export type AttemptTokenOptions = Omit<AttemptTokenRequest, 'project' | 'rolloutId' | 'attemptId'>;

/** Codec of {@link AttemptTokenOptions}. */
export const attemptTokenOptionsCodec: z.ZodType<AttemptTokenOptions> = optionsCodec<AttemptTokenOptions>({
  mayReward: ['may_reward', z.boolean().optional()],
  lifetimeMs: ['lifetime_seconds', secondsOf(z.number().positive().max(maxLifetimeSeconds)).optional()],
});

/** An attempt token with its claims. */
export interface IssuedAttemptToken {
  readonly token: string;
  /** Whether its bearer may record rewards. */
  readonly mayReward: boolean;
  readonly expiresAtMs: number;
}

/** Codec of {@link IssuedAttemptToken}. */
export const issuedAttemptTokenCodec: z.ZodType<IssuedAttemptToken> = recordCodec<IssuedAttemptToken>({
  token: ['token', z.string()],
  mayReward: ['may_reward', z.boolean()],
  expiresAtMs: ['expires_at', seconds],
});

/** The attempt token to revoke. */
export const attemptTokenRevocationCodec: z.ZodType<string> = fieldCodec('token', z.string().min(1));

/** The SHA-256 digests of the revoked attempt tokens that have not expired. */
export const revokedAttemptTokensCodec: z.ZodType<readonly string[]> = fieldCodec('digests', z.array(z.string()));
