import { AttemptTokens } from '@agentlightning/core/protocol';

/**
 * Attempt tokens signed with these comma-separated secrets; null without secrets.
 *
 * @throws AgentLightningError CONFIG when a secret is too short
 */
export function attemptTokensOf(secrets = ''): AttemptTokens | null {
  const known = secrets.split(',').filter((secret) => secret !== '');
  return known.length === 0 ? null : new AttemptTokens({ secrets: known });
}
