import type { RolloutContext } from './rollout-context.ts';

/** Names of the active agents, outermost first; empty outside of a rollout or an agent. */
export function agentPathOf(context: RolloutContext | null): readonly string[] {
  if (context === null) return [];
  return context.agentPath ?? (context.agentName === null ? [] : [context.agentName]);
}

/** The context with one more active agent. */
export function withinAgent(context: RolloutContext, agentName: string): RolloutContext {
  return { ...context, agentName, agentPath: [...agentPathOf(context), agentName] };
}
