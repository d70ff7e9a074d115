import type { RolloutContext } from '@agentlightning/core';
import { fieldsOf, gatewayHeaders, positionOfContext } from '@agentlightning/core/adapter';

/** Environment variables of a process. */
type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that select another provider, or authenticate there. */
const ownProvider = [
  'ANTHROPIC_API_KEY',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_VERTEX',
  'CLAUDE_CODE_USE_FOUNDRY',
];

/**
 * The option of a query that sends its model calls to the endpoint of a rollout, with their trace position; empty without
 * an endpoint.
 *
 * @param own - the environment in the user's options; by default the process inherits that of this process
 */
export function gatewayOption(own: unknown, context: RolloutContext): { readonly env?: Environment } {
  const { endpoint } = context;
  if (endpoint === null) return {};
  const position = positionOfContext(context);
  const { authorization: _, ...headers } = gatewayHeaders({}, { context, endpoint, position });
  const env = {
    ...fieldsOf(own ?? process.env),
    ...Object.fromEntries(ownProvider.map((name) => [name, undefined])),
    ANTHROPIC_BASE_URL: endpoint.baseUrl.replace(/\/v1\/?$/, ''),
    // Claude Code does not start without a credential.
    ANTHROPIC_AUTH_TOKEN: endpoint.apiKey ?? 'none',
    // The user's own headers may contain credentials.
    ANTHROPIC_CUSTOM_HEADERS: Object.entries(headers)
      .map((header) => header.join(': '))
      .join('\n'),
    // Titles and other calls that are not the agent's.
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  } as Environment;
  return { env };
}
