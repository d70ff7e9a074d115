import type { Episode, TinyAgent } from './tiny-learner.ts';

/** A question about a part, and how many of it there are. */
export interface StockTask {
  readonly part: string;
  readonly count: string;
}

const tools = [
  { type: 'function', function: { name: 'count_stock', parameters: { properties: { part: { type: 'string' } } } } },
] as const;

/** The tasks of a step: every step has others, and the same ones in every run. */
export function stockTasks(step: number, count: number): readonly StockTask[] {
  return Array.from({ length: count }, (_, place) => {
    const draw = Math.imul(step * 64 + place + 1, 0x9e3779b1) >>> 8;
    const part = `${String.fromCharCode(65 + (draw % 26))}${Math.floor(draw / 26) % 10}`;
    return { part, count: String(10 + (Math.floor(draw / 260) % 90)) };
  });
}

/** The small tool task: looks the part up with a tool (0.3), then says the number (1). */
export const stockAgent: TinyAgent<StockTask> = async ({ part, count }, episode) => {
  const messages = [{ role: 'user', content: `How many ${part}?` }];
  const call = await episode.ask(messages, tools, 8);
  if (call.toolArguments !== JSON.stringify({ part })) return 0;
  const answer = await episode.ask([...messages, call.message, { role: 'tool', content: count }], tools, 4);
  return answer.text === count ? 1 : 0.3;
};

/**
 * Looks up four parts, and draws a card, which adds a large random reward. Every turn has a separate reward, and the
 * rollout has their sum, in which the random part dominates. The score is the share of correct parts.
 */
export const luckyAgent: TinyAgent<StockTask> = async (task, episode) => {
  const parts = 4;
  let found = 0;
  for (let turn = 0; turn < parts; turn += 1) {
    const isFound = await lookUp(task, turn, episode);
    episode.reward(isFound ? 1 : 0);
    found += isFound ? 1 : 0;
  }
  await episode.ask([{ role: 'user', content: 'A card, please.' }], [], 1);
  const luck = episode.hasLuck ? 6 : -6;
  episode.reward(luck);
  episode.score = found / parts;
  return found + luck;
};

/** Must look up seven parts in a row without a mistake: 1 for all of them, 0 for anything less. */
export const chainAgent: TinyAgent<StockTask> = async (task, episode) => {
  for (let turn = 0; turn < 7; turn += 1) {
    const isFound = await lookUp(task, turn, episode);
    episode.tool(isFound);
    if (!isFound) return 0;
  }
  return 1;
};

/** Looks up the task's part with this number, in a separate conversation. @returns whether the call was correct */
async function lookUp({ part }: StockTask, turn: number, episode: Episode): Promise<boolean> {
  const wanted = `${part.slice(0, 1)}${(Number(part.slice(1)) + turn) % 10}`;
  const call = await episode.ask([{ role: 'user', content: `How many ${wanted}?` }], tools, 8);
  return call.toolArguments === JSON.stringify({ part: wanted });
}
