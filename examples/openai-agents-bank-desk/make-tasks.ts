/**
 * Writes `tasks/train.jsonl` and `tasks/test.jsonl`: messages of bank customers, half of them about lost cards. Balances are
 * random for every task, so that answers cannot be guessed. Run it with another seed for other tasks:
 * `node make-tasks.ts 7`.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { CustomerTask } from './agl.config.ts';

const seed = process.argv[2] ?? '1';
let drawn = 0;

/** The next whole number in `[0, limit)` of the seed. */
function draw(limit: number): number {
  drawn += 1;
  return createHash('sha256').update(`${seed}/${drawn}`).digest().readUInt32BE() % limit;
}

function drawCard(): string {
  return String.fromCharCode(65 + draw(26)) + String(draw(10));
}

function drawTask(): CustomerTask {
  const cards = new Set<string>();
  while (cards.size < 4) cards.add(drawCard());
  const [card = ''] = cards;
  const balances = Object.fromEntries([...cards].sort().map((name) => [name, 10 + draw(90)]));
  const questions = [`What is on ${card}?`, `How much is on ${card}?`];
  const alarms = [`Block card ${card}.`, `I lost ${card}.`];
  return draw(2) === 1
    ? { words: questions[draw(2)] ?? '', balances, answer: String(balances[card]) }
    : { words: alarms[draw(2)] ?? '', balances, answer: `${card} is blocked.` };
}

function writeTasks(file: string, count: number): void {
  const lines = Array.from({ length: count }, () => JSON.stringify(drawTask()));
  writeFileSync(new URL(file, import.meta.url), `${lines.join('\n')}\n`);
}

writeTasks('tasks/train.jsonl', 512);
writeTasks('tasks/test.jsonl', 128);
