import type { AttributeValue } from './span.ts';
import { agentLightningAttributes, genAiAttributes, pythonReaderAttributes } from './span-attributes.ts';

/** An agent path as one attribute value: `boss>expert`. A `>` or `%` within a name is percent-encoded. */
export function agentPathText(path: readonly string[]): string {
  return path.map((name) => name.replaceAll('%', '%25').replaceAll('>', '%3E')).join('>');
}

/** Span attributes with the name and path of the agent; empty outside of any agent. */
export function agentAttributes(path: readonly string[]): Record<string, AttributeValue> {
  const agentName = path.at(-1);
  if (agentName === undefined) return {};
  return {
    [genAiAttributes.agentName]: agentName,
    [pythonReaderAttributes.agentName]: agentName,
    [agentLightningAttributes.agentPath]: agentPathText(path),
  };
}

/** Parses the output of {@link agentPathText}. */
export function agentPathFromText(text: string): readonly string[] {
  if (text === '') return [];
  return text.split('>').map((name) => name.replaceAll('%3E', '>').replaceAll('%25', '%'));
}

/**
 * Whether an agent is in a list of agents, each given by name or by the path of {@link agentPathText}. An unknown agent
 * is not in any list.
 */
export function isAgentAmong(
  agents: readonly string[],
  { agentName, agentPath }: { readonly agentName: string | null; readonly agentPath: readonly string[] | null },
): boolean {
  if (agentName !== null && agents.includes(agentName)) return true;
  return agentPath !== null && agents.includes(agentPathText(agentPath));
}
