import type { RolloutContext } from '../tracing/rollout-context.ts';
import { gatewayHeaders, positionOfContext } from './gateway-request.ts';

/** Environment variables of a process; an undefined one is removed. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Environment variables with which another process that uses a client of Anthropic sends its model calls to the endpoint of
 * a rollout, with their trace position. They replace the user's own key and headers, which can contain credentials.
 *
 * @returns null without an endpoint
 */
export function anthropicEnvironment(context: RolloutContext): Environment | null {
  const { endpoint } = context;
  if (endpoint === null) return null;
  const position = positionOfContext(context);
  const { authorization: _, ...headers } = gatewayHeaders({}, { context, endpoint, position });
  return {
    ANTHROPIC_API_KEY: undefined,
    ANTHROPIC_BASE_URL: endpoint.baseUrl.replace(/\/v1\/?$/, ''),
    // Clients do not start without a credential.
    ANTHROPIC_AUTH_TOKEN: endpoint.apiKey ?? 'none',
    ANTHROPIC_CUSTOM_HEADERS: Object.entries(headers)
      .map((header) => header.join(': '))
      .join('\n'),
  };
}
