import { AgentLightningError, currentRollout, emitAnnotation, emitReward } from '@agentlightning/core';
import type { EnvironmentFactory } from '../environment/environment.ts';
import { Episode } from './episode.ts';

/** Options of the environments of rollouts. */
export interface WithEnvironmentOptions {
  /**
   * Time limit of each operation of the environment, in milliseconds; reaching it is a failure of the environment. The
   * time of the whole rollout is limited by `limits.rolloutTimeoutMs` of the configuration.
   *
   * @default 60000
   */
  readonly operationTimeoutMs?: number;
}

/**
 * An agent of any framework that acts in an environment. Each rollout has an instance of the environment, which is closed
 * at its end. A failure of the environment fails the rollout, whatever the agent made of it: it has no reward, and is
 * retried like other failures of the infrastructure.
 *
 * @param agent - receives the task and the episode, whose `tools` it gives to its framework
 *
 * @example
 * ```ts
 * export const agent = withEnvironment(files, async (task: Task, episode) => {
 *   const { text } = await generateText({ model, prompt: episode.observation, tools: aiTools(episode.tools) });
 *   return text;
 * });
 * ```
 */
export function withEnvironment<TTask, TOutput>(
  factory: EnvironmentFactory<TTask>,
  agent: (task: TTask, episode: Episode) => TOutput | Promise<TOutput>,
  options: WithEnvironmentOptions = {},
): (task: TTask) => Promise<TOutput> {
  const { operationTimeoutMs = 60_000 } = options;
  if (!(operationTimeoutMs > 0)) throw invalidTimeout(operationTimeoutMs);
  return async (task) => {
    const rollout = currentRollout();
    const episode = await Episode.start(factory, task, {
      signal: rollout?.signal ?? new AbortController().signal,
      operationTimeoutMs,
      onReward: (reward) => emitReward(reward),
    });
    try {
      const output = await agent(task, episode);
      if (episode.failure !== null) throw episode.failure;
      return output;
    } catch (error) {
      // A framework may have wrapped or hidden the failure.
      throw episode.failure ?? error;
    } finally {
      emitAnnotation({
        'agentlightning.environment.name': factory.name,
        'agentlightning.environment.steps': episode.steps,
        'agentlightning.environment.done': episode.isDone,
      });
      // The result of the rollout is known: what remains open is the concern of the environment.
      await episode.close().catch(() => undefined);
    }
  };
}

function invalidTimeout(value: number): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `\`operationTimeoutMs\` of an environment must be above 0, not ${value}`,
    remedy: 'Set the time limit in milliseconds, such as 60000.',
  });
}
