import type { FineTuneExample } from '@agentlightning/algorithms';
import { AgentLightningError, currentRollout } from '@agentlightning/core';
import { forceMessage } from '../stored-data/forced-call.ts';

/**
 * Replays a demonstration in the current rollout, so that the algorithm `sft` trains on it: each assistant message without
 * `weight: 0` becomes a model call whose response is that message, with its token ids. Demonstrations have the format that
 * `agl dataset` writes. A training on demonstrations only needs no agent: see `data` of the configuration.
 *
 * @returns the reward 1, of a rollout to imitate
 * @throws AgentLightningError outside of a rollout, when a call fails, and with a model endpoint without `forced_message`:
 *   the embedded runtime and the built-in sampler of the GPU runtime have it
 *
 * @example
 * ```ts
 * stages: [
 *   { algorithm: 'sft', agent: (task: Demonstration) => replayDemonstration(conversation(task)), steps: 40, tasks: { train } },
 *   { algorithm: 'grpo', steps: 60 },
 * ]
 * ```
 */
export async function replayDemonstration({ messages, tools }: FineTuneExample): Promise<number> {
  const endpoint = currentRollout()?.endpoint;
  if (!endpoint) {
    throw new AgentLightningError({
      code: 'OUTSIDE_ROLLOUT',
      message: 'A demonstration was replayed outside of a rollout.',
      remedy: 'Call replayDemonstration in the `agent` of a configuration.',
    });
  }
  for (const [index, message] of messages.entries()) {
    if (message['role'] !== 'assistant' || message['weight'] === 0) continue;
    const history = messages.slice(0, index).map(({ weight: _, ...shown }) => shown);
    await forceMessage(message, endpoint, { messages: history, ...(tools && { tools }) });
  }
  return 1;
}
