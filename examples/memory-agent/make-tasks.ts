/**
 * Writes `tasks/train.jsonl` and `tasks/test.jsonl`: days of twelve messages, half of which are orders, and a question about one order.
 * Keys and amounts are random for every day, so that no answer can be guessed. Run it with another seed for others:
 * `node make-tasks.ts 7`.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { type DayTask, memoryCapacity } from './agent.ts';

const seed = process.argv[2] ?? '1';
let drawn = 0;

/** The next whole number in `[0, limit)` of the seed. */
function draw(limit: number): number {
  drawn += 1;
  return createHash('sha256').update(`${seed}/${drawn}`).digest().readUInt32BE() % limit;
}

const orders = ['Order of K: N', 'Please send K, N of it', 'We buy K, N boxes'];
const others = ['Price of K is N', 'Lost K in room N', 'K is late by N days', 'Thanks for K, all N'];

function drawMessage(key: string, isOrder: boolean): DayTask['messages'][number] {
  const amount = 10 + draw(90);
  const wordings = isOrder ? orders : others;
  const wording = wordings[draw(wordings.length)] ?? '';
  const text = wording.replace(/\b[KN]\b/g, (letter) => (letter === 'K' ? key : String(amount)));
  return { text, key, amount, isOrder };
}

function drawDay(): DayTask {
  const keys = new Set<string>();
  while (keys.size < 12) keys.add(String.fromCharCode(65 + draw(26)) + String(draw(10)));
  const orderKeys = [...keys].slice(0, memoryCapacity);
  const rest = [...keys];
  const shuffled = [...keys].map(() => rest.splice(draw(rest.length), 1)[0] ?? '');
  const messages = shuffled.map((key) => drawMessage(key, orderKeys.includes(key)));
  return { messages, asked: orderKeys[draw(orderKeys.length)] ?? '' };
}

function writeTasks(file: string, count: number): void {
  const lines = Array.from({ length: count }, () => JSON.stringify(drawDay()));
  writeFileSync(new URL(file, import.meta.url), `${lines.join('\n')}\n`);
}

writeTasks('tasks/train.jsonl', 256);
writeTasks('tasks/test.jsonl', 64);
