import { AgentLightningError } from '@agentlightning/core';
import type { CreateModelOptions, RuntimeCapabilities } from '@agentlightning/core/training-runtime';

/**
 * Compares the tokenizer or chat template that the client expects with the runtime's. A mismatch would not be noticed
 * later: training would run without learning.
 *
 * @throws AgentLightningError CONFLICT when both are known and differ
 */
export function assertSameTokenizer(options: CreateModelOptions, capabilities: RuntimeCapabilities): void {
  const base = capabilities.models.find(({ name }) => name === options.baseModel);
  for (const [what, expected, found] of [
    ['tokenizer', options.tokenizerSha256, base?.tokenizerSha256],
    ['chat template', options.chatTemplateSha256, base?.chatTemplateSha256],
  ] as const) {
    if (expected === undefined || found === undefined || expected.toLowerCase() === found.toLowerCase()) continue;
    throw new AgentLightningError({
      code: 'CONFLICT',
      message: `The ${what} of ${options.baseModel} has SHA-256 ${found} in the runtime; expected ${expected}`,
      remedy: `Use the same ${what} on both sides: their token ids are incompatible.`,
      details: { baseModel: options.baseModel, expected, found },
    });
  }
}
