import { agentAttributes, agentPathOf, withinAgent } from './agent-path.ts';
import { currentRollout, withRollout } from './rollout-context.ts';
import { tracer } from './rollout-tracer.ts';
import { agentLightningAttributes, genAiAttributes } from './span-attributes.ts';

/**
 * Runs one agent of several: everything it does becomes a child of a span with its name, and its model
 * calls carry the name, so that training can pick the agents it is for. Outside of a rollout it only runs it.
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
