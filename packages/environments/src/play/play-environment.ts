import { AgentLightningError, asTool, type JsonObject } from '@agentlightning/core';
import { parseJsonObject } from '@agentlightning/core/internal';
import type { EnvironmentFactory, EnvironmentTool } from '../environment/environment.ts';
import type { Episode } from '../episode/episode.ts';
import { type WithEnvironmentOptions, withEnvironment } from '../episode/with-environment.ts';
import { callModel, type ModelToolCall } from './chat-model.ts';

/** Options of {@link playEnvironment}. */
export interface PlayOptions extends WithEnvironmentOptions {
  /** The system message. @default none */
  readonly system?: string;
  /** Largest number of model calls; an episode ends there with the rewards that it has. @default 10 */
  readonly maxTurns?: number;
  /** Further fields of each request, such as `max_tokens`. @default none; `sampling` of the configuration applies */
  readonly parameters?: JsonObject;
}

/**
 * An agent that plays an environment with the model in training: the built-in loop. The first observation is the user's
 * message; tool calls and messages of the model are actions, and observations are what follows them.
 *
 * @returns the agent for `defineConfig`. It returns the sum of the rewards of the environment, which is 0 for an episode that
 * reaches `maxTurns` without any; of an environment without rewards, the last message of the model, which the configured
 * `reward` scores
 *
 * @throws AgentLightningError CONFIG for `maxTurns` below 1
 *
 * @example
 * ```ts
 * export default defineConfig({
 *   agent: playEnvironment(openEnvironment({ url: 'http://127.0.0.1:8000' }), { maxTurns: 20 }),
 *   tasks: { train: 'tasks/train.jsonl', test: 'tasks/test.jsonl' },
 * });
 * ```
 */
export function playEnvironment<TTask>(
  environment: EnvironmentFactory<TTask, true>,
  options?: PlayOptions,
): (task: TTask) => Promise<number | null>;
/** An agent that plays an environment without rewards. */
export function playEnvironment<TTask>(
  environment: EnvironmentFactory<TTask, false>,
  options?: PlayOptions,
): (task: TTask) => Promise<string>;
export function playEnvironment<TTask>(
  environment: EnvironmentFactory<TTask>,
  options: PlayOptions = {},
): (task: TTask) => Promise<number | string | null> {
  const { maxTurns = 10, ...rest } = options;
  if (!(Number.isInteger(maxTurns) && maxTurns >= 1)) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `\`maxTurns\` of an environment must be a whole number from 1, not ${maxTurns}`,
      remedy: 'Set the largest number of model calls of an episode.',
    });
  }
  const play = async (_task: TTask, episode: Episode): Promise<number | string | null> => {
    const text = await playEpisode(episode, { ...rest, maxTurns });
    if (!environment.givesRewards) return text;
    return episode.reward ?? (episode.isDone ? null : 0);
  };
  return withEnvironment(environment, play, options);
}

/** Plays until the end of the episode or the limit of turns; returns the last message of the model. */
async function playEpisode(
  episode: Episode,
  { system, maxTurns, parameters }: PlayOptions & { readonly maxTurns: number },
): Promise<string> {
  const messages: JsonObject[] = [
    ...(system === undefined ? [] : [{ role: 'system', content: system }]),
    { role: 'user', content: episode.observation },
  ];
  const tools = episode.tools.map(functionTool);
  let text = '';
  for (let turn = 0; turn < maxTurns && !episode.isDone; turn += 1) {
    const message = await callModel({ messages, ...(tools.length === 0 ? {} : { tools }), ...parameters });
    messages.push({ role: 'assistant', ...(message as JsonObject) });
    text = message.content ?? '';
    const calls = message.tool_calls ?? [];
    for (const call of calls) {
      messages.push({ role: 'tool', tool_call_id: call.id, content: await callTool(episode, call) });
    }
    if (calls.length > 0) continue;
    const { observation } = await episode.send(text);
    messages.push({ role: 'user', content: observation });
  }
  return text;
}

/** The observation of a tool call. Calls that no environment can perform are observations too. */
async function callTool(episode: Episode, { function: called }: ModelToolCall): Promise<string> {
  const args = parseJsonObject(called.arguments);
  const tool = episode.tools.find(({ name }) => name === called.name);
  if (tool === undefined) return `There is no tool "${called.name}".`;
  if (args === null) return `The arguments of ${called.name} are not a JSON object.`;
  return await asTool(tool.name, tool.execute)(args);
}

function functionTool({ name, description, parameters }: EnvironmentTool): JsonObject {
  return { type: 'function', function: { name, description, parameters } };
}
