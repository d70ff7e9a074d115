import type { Agent } from '@agentlightning/runner';

/**
 * The agent of a configuration with stages: that of the stage for its training rollouts, which have the stage in their
 * metadata; otherwise the agent of the configuration.
 *
 * @param stages - with agents that are not validated, in order
 */
export function stagedAgent(
  agent: Agent<unknown, unknown>,
  stages: readonly { readonly agent?: unknown }[],
): Agent<unknown, unknown> {
  const agents = stages.map((stage) => (typeof stage.agent === 'function' ? stage.agent : null));
  if (agents.every((each) => each === null)) return agent;
  return async (task, context) => {
    const stage = context.mode === 'train' ? context.metadata?.['stage'] : undefined;
    const own = typeof stage === 'number' ? agents[stage] : null;
    const chosen = (own ?? agent) as Agent<unknown, unknown>;
    return await chosen(task, context);
  };
}
