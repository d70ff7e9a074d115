/**
 * Writes `tasks/train.jsonl` and `tasks/test.jsonl`: requests about one lamp of a house, half of which ask and half of
 * which order. Run it with another seed for other tasks: `node make-tasks.ts 7`.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { LampTask } from './agl.config.ts';

const seed = process.argv[2] ?? '1';
let drawn = 0;

/** The next whole number in `[0, limit)` of the seed. */
function draw(limit: number): number {
  drawn += 1;
  return createHash('sha256').update(`${seed}/${drawn}`).digest().readUInt32BE() % limit;
}

function drawLamp(): string {
  return String.fromCharCode(65 + draw(26)) + String(draw(10));
}

function drawTask(): LampTask {
  const names = new Set<string>();
  while (names.size < 4) names.add(drawLamp());
  const [lamp = ''] = names;
  const lamps = Object.fromEntries([...names].sort().map((name) => [name, draw(2) === 1]));
  const questions = [`Is lamp ${lamp} on?`, `Is ${lamp} lit?`];
  const orders = [`Switch lamp ${lamp} on.`, `Light ${lamp}, please.`];
  return draw(2) === 1
    ? { request: questions[draw(2)] ?? '', lamps, answer: `${lamp} is ${lamps[lamp] === true ? 'on' : 'off'}.` }
    : { request: orders[draw(2)] ?? '', lamps, answer: `Switched ${lamp} on.` };
}

function writeTasks(file: string, count: number): void {
  const lines = Array.from({ length: count }, () => JSON.stringify(drawTask()));
  writeFileSync(new URL(file, import.meta.url), `${lines.join('\n')}\n`);
}

writeTasks('tasks/train.jsonl', 512);
writeTasks('tasks/test.jsonl', 128);
