import type { AttemptTokens } from '@agentlightning/core/protocol';
import { attemptTokensOf } from '../../config/attempt-tokens.ts';

/** Help text about the secret. */
export const tokenSecretHelp: string =
  'AGL_TOKEN_SECRET signs attempt tokens; store and gateway need the same secret: `openssl rand -base64 32`.\n' +
  'To rotate it, prepend the new secret to the old one, separated by a comma.';

/**
 * Attempt tokens signed with the secrets in `AGL_TOKEN_SECRET`; null without secrets.
 *
 * @throws AgentLightningError CONFIG when a secret is too short
 */
export function attemptTokensFromEnvironment(): AttemptTokens | null {
  return attemptTokensOf(process.env['AGL_TOKEN_SECRET']);
}
