import { AgentLightningError } from '@agentlightning/core';
import { didYouMean } from '@agentlightning/core/settings';
import type { RuntimeCapabilities } from '@agentlightning/core/training-runtime';

/**
 * The base model of a run or a policy.
 *
 * @param wanted - the configured name; undefined for the runtime's default: `tiny-chat` where it has it, else its first
 * @throws AgentLightningError CONFIG when the runtime does not have it
 */
export function chooseBaseModel(wanted: string | undefined, { models }: Pick<RuntimeCapabilities, 'models'>): string {
  const names = models.map(({ name }) => name);
  if (wanted === undefined) return names.find((name) => name === 'tiny-chat') ?? names[0] ?? 'default';
  if (names.length === 0 || names.includes(wanted)) return wanted;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `the runtime has no model "${wanted}"${didYouMean(wanted, names)}`,
    remedy: `Use one of its models: ${names.join(', ')}.`,
    details: { baseModel: wanted },
  });
}
