import type { RolloutContext } from './rollout-context.ts';

/** The names of the agents at work, the outermost first; empty outside of a rollout and of any agent. */
export function agentPathOf(context: RolloutContext | null): readonly string[] {
  if (context === null) return [];
  return context.agentPath ?? (context.agentName === null ? [] : [context.agentName]);
}

/** The same context with one more agent at work. */
export function withinAgent(context: RolloutContext, agentName: string): RolloutContext {
  return { ...context, agentName, agentPath: [...agentPathOf(context), agentName] };
}
