import type { RolloutContext } from '@agentlightning/core';
import { type Fields, fieldsOf, gatewayHeaders, positionOfContext } from '@agentlightning/core/internal';

/**
 * The option of a query that sends its model calls to the endpoint of a rollout, with their trace position; empty without
 * an endpoint.
 *
 * @param own - the environment in the user's options; by default the process inherits that of this process
 */
export function gatewayOption(own: unknown, context: RolloutContext): { readonly env?: Fields } {
  const { endpoint } = context;
  if (endpoint === null) return {};
  const position = positionOfContext(context);
  const { authorization: _, ...headers } = gatewayHeaders({}, { context, endpoint, position });
  const env = {
    ...fieldsOf(own ?? process.env),
    ANTHROPIC_BASE_URL: endpoint.baseUrl.replace(/\/v1\/?$/, ''),
    // Claude Code does not start without a credential.
    ANTHROPIC_AUTH_TOKEN: endpoint.apiKey ?? 'none',
    // The user's own headers can contain credentials.
    ANTHROPIC_CUSTOM_HEADERS: Object.entries(headers)
      .map((header) => header.join(': '))
      .join('\n'),
    // Credentials of the user, and variables that select another provider. An undefined variable is removed.
    ANTHROPIC_API_KEY: undefined,
    CLAUDE_CODE_OAUTH_TOKEN: undefined,
    CLAUDE_CODE_USE_BEDROCK: undefined,
    CLAUDE_CODE_USE_VERTEX: undefined,
    CLAUDE_CODE_USE_FOUNDRY: undefined,
    // Titles and other calls that are not the agent's.
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  };
  return { env };
}
