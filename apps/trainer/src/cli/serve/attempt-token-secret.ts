import type { AttemptTokens } from '@agentlightning/core/protocol';
import { attemptTokensOf } from '../../config/attempt-tokens.ts';

/** What the servers' help says about the secret. */
export const tokenSecretHelp: string =
  'AGL_TOKEN_SECRET signs the tokens of attempts, the same for store and gateway: `openssl rand -base64 32`.\n' +
  'To change it, put the new one in front of the old one, with a comma in between.';

/**
 * The tokens of attempts, by the secrets in `AGL_TOKEN_SECRET`; null without secrets.
 *
 * @throws AgentLightningError CONFIG when a secret is too short
 */
export function attemptTokensFromEnvironment(): AttemptTokens | null {
  return attemptTokensOf(process.env['AGL_TOKEN_SECRET']);
}
