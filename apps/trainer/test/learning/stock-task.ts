import type { Episode, TinyAgent } from './tiny-learner.ts';

/** A question about a part, and how many of it there are. */
export interface StockTask {
  readonly part: string;
  readonly count: string;
}

const tools = [
  { type: 'function', function: { name: 'count_stock', parameters: { properties: { part: { type: 'string' } } } } },
] as const;

/** Tasks of a step: every step has others, and the same ones in every run. */
export function stockTasks(step: number, count: number): readonly StockTask[] {
  return Array.from({ length: count }, (_, place) => {
    const draw = Math.imul(step * 64 + place + 1, 0x9e3779b1) >>> 8;
    return {
      part: `${String.fromCharCode(65 + (draw % 26))}${Math.floor(draw / 26) % 10}`,
      count: String(10 + (Math.floor(draw / 260) % 90)),
    };
  });
}

/** Looks the part up with a tool, then says the number: a third for the right call, the rest for the right answer. */
export const stockAgent: TinyAgent<StockTask> = async (task, episode) => {
  const messages = [{ role: 'user', content: `How many ${task.part}?` }];
  const call = await episode.ask(messages, tools, 8);
  if (call.toolArguments !== JSON.stringify({ part: task.part })) return 0;
  const answer = await episode.ask([...messages, call.message, { role: 'tool', content: task.count }], tools, 4);
  return answer.text === task.count ? 1 : 0.3;
};
export type { Episode };
