/**
 * Writes `tasks/train.jsonl` and `tasks/test.jsonl`: messages of visitors who want a door opened. Run it with another seed for
 * other tasks: `node make-tasks.ts 7`.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { VisitorTask } from './agl.config.ts';

const seed = process.argv[2] ?? '1';
let drawn = 0;

/** The next whole number in `[0, limit)` of the seed. */
function draw(limit: number): number {
  drawn += 1;
  return createHash('sha256').update(`${seed}/${drawn}`).digest().readUInt32BE() % limit;
}

function drawTask(): VisitorTask {
  const door = String.fromCharCode(65 + draw(26)) + String(draw(10));
  const messages = [`Please open ${door}.`, `I am at ${door}.`, `${door} is locked.`];
  return { message: messages[draw(messages.length)] ?? '', door };
}

function writeTasks(file: string, count: number): void {
  const lines = Array.from({ length: count }, () => JSON.stringify(drawTask()));
  writeFileSync(new URL(file, import.meta.url), `${lines.join('\n')}\n`);
}

writeTasks('tasks/train.jsonl', 256);
writeTasks('tasks/test.jsonl', 64);
