import { agentAttributes } from '../spans/agent-path.ts';
import { agentLightningAttributes, genAiAttributes } from '../spans/span-attributes.ts';
import { agentPathOf, withinAgent } from './agent-path.ts';
import { currentRollout, withRollout } from './rollout-context.ts';
import { tracer } from './rollout-tracer.ts';

/**
 * Runs one of several agents: its spans become children of a span with its name, and its model calls carry the name,
 * which selects the agents to train. Outside of a rollout it only runs the function.
 *
 * @example
 * ```ts
 * const draft = await withAgent('writer', () => write(outline));
 * const review = await withAgent('critic', () => critique(draft));
 * ```
 */
export function withAgent<TResult>(agentName: string, run: () => TResult): TResult {
  return tracer.withSpan(
    `invoke_agent ${agentName}`,
    () => {
      const context = currentRollout();
      return context === null ? run() : withRollout(withinAgent(context, agentName), run);
    },
    {
      attributes: {
        [agentLightningAttributes.stepKind]: 'agent',
        [genAiAttributes.operationName]: 'invoke_agent',
        ...agentAttributes([...agentPathOf(currentRollout()), agentName]),
      },
    },
  );
}
