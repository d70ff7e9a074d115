import { modelCallFromSpan } from '@agentlightning/core/spans';
import type { GroupPart, ScoredOutput } from '../base/part.ts';
import { judgeOf } from './judge.ts';
import { judgePrompts } from './judge-prompts.ts';
import {
  field,
  type JudgingOptions,
  judgedOutput,
  judgingSettings,
  namedScores,
  promptOf,
  shortened,
} from './judging.ts';

/**
 * Scores of the trajectories of a group relative to each other, by one call of a judge for the whole group. The judge reads the
 * messages of the last model call of each rollout and its output. The messages that all have in common are sent once.
 *
 * @example
 * ```ts
 * rewards({ ranking: ruler({ judge, instructions: 'The agent books tables.' }) });
 * ```
 */
export function ruler<TTask = unknown, TOutput = unknown>(
  options: JudgingOptions<TTask, TOutput>,
): GroupPart<TTask, TOutput> {
  const judge = judgeOf(options.judge);
  return {
    ...judgingSettings('ruler', options, judge),
    scoreGroup: async (siblings) => {
      const [first] = siblings;
      if (first === undefined) return [];
      const messages = await Promise.all(siblings.map(messagesOf));
      const shared = commonPrefix(messages);
      const ids = siblings.map((_, index) => String(index + 1));
      const material = {
        shared_messages: (messages[0] ?? []).slice(0, shared),
        trajectories: siblings.map(({ output }, index) => ({
          id: ids[index],
          messages: (messages[index] ?? []).slice(shared).map((message) => shortened(message)),
          output: judgedOutput(output, options),
        })),
      };
      const scores = await judge.ask(
        promptOf('ruler', first, { ...options, material }),
        (json) => namedScores(field(json, 'scores'), ids, { name: 'id', reason: 'explanation' }),
        first,
      );
      return ids.map((id) => {
        const { score, reason } = scores.get(id) ?? { score: null, reason: '' };
        return { score, reason: `${reason} (${judgePrompts.ruler.version}, ${judge.model})` };
      });
    },
  };
}

/** The messages of the last model call of a rollout, each as JSON text; empty without recorded calls. */
async function messagesOf({ spans }: ScoredOutput): Promise<readonly string[]> {
  const calls = ((await spans?.()) ?? []).map(modelCallFromSpan).filter((call) => call !== null);
  const { request = null, response = null } = calls.at(-1) ?? {};
  const sent = request?.['messages'] ?? request?.['input'];
  const choices = response?.['choices'];
  const [choice] = Array.isArray(choices) ? choices : [];
  const received = typeof choice === 'object' && choice !== null && 'message' in choice ? [choice['message']] : [];
  return [...(Array.isArray(sent) ? sent : []), ...received].map((message) => JSON.stringify(message));
}

/** The number of messages at the start that all have in common. */
function commonPrefix(conversations: readonly (readonly string[])[]): number {
  const [first = [], ...others] = conversations;
  const end = first.findIndex((message, index) => others.some((other) => other[index] !== message));
  return end === -1 ? first.length : end;
}
