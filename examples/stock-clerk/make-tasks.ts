/**
 * Writes `tasks/train.jsonl` and `tasks/test.jsonl`: questions about a part that got a new number once or twice, and a shelf with
 * random parts and counts for every task, so that answers cannot be guessed. Run it with another seed for other tasks:
 * `node make-tasks.ts 7`.
 *
 * @module
 */
import { writeFileSync } from 'node:fs';
import type { StockTask } from './agent.ts';

let state = Number(process.argv[2] ?? 1);

/** A whole number in `[0, limit)`, from a seeded generator (mulberry32). */
function draw(limit: number): number {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
}

function drawPart(): string {
  return String.fromCharCode(65 + draw(26)) + String(draw(10));
}

function drawTask(): StockTask {
  const drawn = new Set<string>();
  while (drawn.size < 6) drawn.add(drawPart());
  const parts = [...drawn];
  const route = parts.slice(0, 2 + draw(2));
  const shelf = Object.fromEntries(parts.map((part) => [part, String(10 + draw(90))]));
  const answer = shelf[route.at(-1) ?? ''] ?? '';
  for (const [index, next] of route.slice(1).entries()) shelf[route[index] ?? ''] = `is ${next} now`;
  return { question: `How many ${route[0]} are in stock?`, shelf, route, answer };
}

function writeTasks(file: string, count: number): void {
  const lines = Array.from({ length: count }, () => JSON.stringify(drawTask()));
  writeFileSync(new URL(file, import.meta.url), `${lines.join('\n')}\n`);
}

writeTasks('tasks/train.jsonl', 512);
writeTasks('tasks/test.jsonl', 128);
