import type { RolloutContext } from '@agentlightning/core';
import { anthropicEnvironment, type Environment, fieldsOf } from '@agentlightning/core/adapter';

/**
 * The option of a query that sends its model calls to the endpoint of a rollout, with their trace position; empty without
 * an endpoint.
 *
 * @param own - the environment in the user's options; by default the process inherits that of this process
 */
export function gatewayOption(own: unknown, context: RolloutContext): { readonly env?: Environment } {
  const gateway = anthropicEnvironment(context);
  if (gateway === null) return {};
  const env = {
    ...fieldsOf(own ?? process.env),
    ...gateway,
    // They select another provider, or authenticate there.
    CLAUDE_CODE_OAUTH_TOKEN: undefined,
    CLAUDE_CODE_USE_BEDROCK: undefined,
    CLAUDE_CODE_USE_VERTEX: undefined,
    CLAUDE_CODE_USE_FOUNDRY: undefined,
    // Titles and other calls that are not the agent's.
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  } as Environment;
  return { env };
}
