import { fineTuneExamples, preferenceExamples } from '@agentlightning/algorithms/internal';
import { AgentLightningError } from '@agentlightning/core';
import type { CollectedGroup } from '@agentlightning/core/algorithm';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import type { StoredData } from '../stored-data/stored-data.ts';

/** The fewest examples that OpenAI accepts. */
const minExamples = 10;

/** Number of groups that are read together, to bound memory. */
const chunkSize = 64;

/**
 * The file that a vendor trains on, as JSON lines.
 *
 * @throws AgentLightningError NOTHING_TO_TRAIN with fewer examples than vendors accept; nothing is then uploaded
 */
export async function vendorFile(data: StoredData, algorithm: ResolvedConfig['algorithm']): Promise<string> {
  const lines: string[] = [];
  const indices = data.tasks.map((_, index) => index);
  for (let start = 0; start < indices.length; start += chunkSize) {
    const examples = await data.examples(indices.slice(start, start + chunkSize), {
      isPaired: algorithm.type === 'dpo',
      create: (groups) => examplesOf(groups, algorithm),
    });
    lines.push(...examples.map((example) => JSON.stringify(example)));
  }
  if (lines.length >= minExamples) return `${lines.join('\n')}\n`;
  throw new AgentLightningError({
    code: 'NOTHING_TO_TRAIN',
    message: `the data has ${lines.length} examples for ${algorithm.type}, and fine-tuning needs at least ${minExamples}`,
    remedy: 'Select more rollouts, or add examples to the file.',
  });
}

/** The examples of stored rollouts in the format of OpenAI. */
function examplesOf(groups: readonly CollectedGroup[], algorithm: ResolvedConfig['algorithm']): readonly object[] {
  if (algorithm.type === 'dpo') {
    const { minGap, pairsPerTask } = algorithm;
    return preferenceExamples(groups, {
      ...(minGap === undefined ? {} : { minGap }),
      ...(pairsPerTask === undefined ? {} : { pairsPerTask }),
    }).examples;
  }
  if (algorithm.type !== 'sft') return [];
  const { minReward, keepBest } = algorithm;
  return fineTuneExamples(groups, {
    ...(minReward === undefined ? {} : { minReward }),
    ...(keepBest === undefined ? {} : { keepBest }),
  });
}
