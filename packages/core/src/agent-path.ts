import type { RolloutContext } from './rollout-context.ts';
import type { AttributeValue } from './span.ts';
import { agentLightningAttributes, genAiAttributes, pythonReaderAttributes } from './span-attributes.ts';

/** The names of the agents at work, the outermost first; empty outside of a rollout and of any agent. */
export function agentPathOf(context: RolloutContext | null): readonly string[] {
  if (context === null) return [];
  return context.agentPath ?? (context.agentName === null ? [] : [context.agentName]);
}

/** The same context with one more agent at work. */
export function withinAgent(context: RolloutContext, agentName: string): RolloutContext {
  return { ...context, agentName, agentPath: [...agentPathOf(context), agentName] };
}

/** A path as one text, the way attributes have it: `boss>expert`. A `>` or `%` within a name is percent-encoded. */
export function agentPathText(path: readonly string[]): string {
  return path.map((name) => name.replaceAll('%', '%25').replaceAll('>', '%3E')).join('>');
}

/** The attributes of a span that an agent produced: its name and path; empty outside of any agent. */
export function agentAttributes(path: readonly string[]): Record<string, AttributeValue> {
  const agentName = path.at(-1);
  if (agentName === undefined) return {};
  return {
    [genAiAttributes.agentName]: agentName,
    [pythonReaderAttributes.agentName]: agentName,
    [agentLightningAttributes.agentPath]: agentPathText(path),
  };
}

/** The path that {@link agentPathText} wrote. */
export function agentPathFromText(text: string): readonly string[] {
  if (text === '') return [];
  return text.split('>').map((name) => name.replaceAll('%3E', '>').replaceAll('%25', '%'));
}

/**
 * Whether an agent is one of these, each said by its name or by its whole path as {@link agentPathText} writes it. An agent
 * that nobody knows is none of them.
 */
export function isAgentAmong(
  agents: readonly string[],
  { agentName, agentPath }: { readonly agentName: string | null; readonly agentPath: readonly string[] | null },
): boolean {
  if (agentName !== null && agents.includes(agentName)) return true;
  return agentPath !== null && agents.includes(agentPathText(agentPath));
}
