import { traceFetch } from '@agentlightning/fetch';
import type { Agent } from '@agentlightning/runner';
import OpenAI from 'openai';
import { expect, test, vi } from 'vitest';
import { RunFolder } from './run-folder.ts';
import { type SmallTask, smallTrainer, trainSmall } from './small-trainer.ts';

/** The test starts processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 });

const client = new OpenAI({ apiKey: 'none', fetch: traceFetch(), maxRetries: 0 });

/** Three turns whose history lacks the reasoning, as with Qwen3's chat template. */
function reasoning(stop: readonly string[]): Agent<SmallTask> {
  return async ({ question }, { metadata }) => {
    const messages: OpenAI.Chat.ChatCompletionMessageParam[] = [];
    for (const turn of ['one', 'two', 'three']) {
      messages.push({ role: 'user', content: `${question} ${turn}` });
      const forced = { forced_message: { content: `<think>so ${turn}</think>${turn}` } };
      const completion = await client.chat.completions.create({ model: 'any', messages, stop: [...stop], ...forced });
      const text = completion.choices[0]?.message.content ?? '';
      messages.push({ role: 'assistant', content: text.split('</think>').at(-1) ?? '' });
    }
    return Number(metadata?.['sample']);
  };
}

async function stepOf(agent: Agent<SmallTask>): Promise<Readonly<Record<string, number>>> {
  using folder = new RunFolder();
  const { events, error } = await trainSmall(smallTrainer(folder.path, { agent }));
  expect(error).toBeNull();
  const [metrics = {}] = events.flatMap((event) => (event.type === 'stepped' ? [event.summary.metrics] : []));
  return metrics;
}

test('8 rollouts of three turns are 8 rows, whose log-probabilities the trainer computes as the sampler did', async () => {
  const joined = await stepOf(reasoning([]));
  expect(joined).toMatchObject({ 'rollouts/used': 8, 'rows/total': 8, 'rows/split': 0 });
  expect(joined['policy/logprob_gap']).toBeLessThan(1e-4);
  // Responses that other texts may have ended are not continued by token ids.
  const split = await stepOf(reasoning(['~~']));
  expect(split).toMatchObject({ 'rows/total': 24, 'rows/split': 16 });
});
