import { AgentLightningError } from '@agentlightning/core';
import type { CreateModelOptions, RuntimeCapabilities } from '@agentlightning/core/training-runtime';

/**
 * Compares what the client takes the tokenizer and the chat template for with what the runtime has. Another tokenizer
 * is never noticed later: everything runs, and nothing is learned.
 *
 * @throws AgentLightningError CONFLICT when both are known and differ
 */
export function assertSameText(options: CreateModelOptions, capabilities: RuntimeCapabilities): void {
  const base = capabilities.models.find(({ name }) => name === options.baseModel);
  for (const [what, expected, found] of [
    ['tokenizer', options.tokenizerSha256, base?.tokenizerSha256],
    ['chat template', options.chatTemplateSha256, base?.chatTemplateSha256],
  ] as const) {
    if (expected === undefined || found === undefined || expected.toLowerCase() === found.toLowerCase()) continue;
    throw new AgentLightningError({
      code: 'CONFLICT',
      message: `The ${what} of ${options.baseModel} has SHA-256 ${found} in the runtime, and should have ${expected}`,
      remedy: `Use the same ${what} on both sides: token ids of one mean nothing to the other.`,
      details: { baseModel: options.baseModel, expected, found },
    });
  }
}
