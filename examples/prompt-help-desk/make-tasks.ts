/**
 * Writes `tasks/train.jsonl`, `tasks/validation.jsonl` and `tasks/test.jsonl`: tickets, each about one thing. The same
 * things come in all three, in other words. Run it with another seed for other tickets: `node make-tasks.ts 7`.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { TicketTask } from './agl.config.ts';

const seed = process.argv[2] ?? '1';
let drawn = 0;

/** The next whole number in `[0, limit)` of the seed. */
function draw(limit: number): number {
  drawn += 1;
  return createHash('sha256').update(`${seed}/${drawn}`).digest().readUInt32BE() % limit;
}

/** The subjects of tickets and their queues. */
const things: readonly (readonly [thing: string, queue: string])[] = [
  ['a duplicate payment', 'billing'],
  ['my tracking number', 'shipping'],
  ['a delivery that is late', 'shipping'],
  ['my forgotten password', 'account'],
  ['two-factor verification', 'account'],
  ['a broken replacement', 'returns'],
];

const openings = [
  'I write about',
  'Please help me with',
  'There is a word to say on',
  'I have to ask about',
  'Once more:',
];
const endings = ['.', ', please.', '. Thanks!', '. It is the 2nd time.', '. Who can look at it?', '. I am in a hurry.'];

function drawTask(index: number): TicketTask {
  const [thing, queue] = things[index % things.length] ?? ['', ''];
  return { ticket: `${openings[draw(openings.length)]} ${thing}${endings[draw(endings.length)]}`, queue };
}

/** Tickets that are already written: held-out tickets are not in the training tasks. */
const written = new Set<string>();

function writeTasks(file: string, count: number): void {
  const lines: string[] = [];
  while (lines.length < count) {
    const task = JSON.stringify(drawTask(lines.length));
    if (written.has(task)) continue;
    written.add(task);
    lines.push(task);
  }
  writeFileSync(new URL(file, import.meta.url), `${lines.join('\n')}\n`);
}

writeTasks('tasks/train.jsonl', 24);
writeTasks('tasks/validation.jsonl', 24);
writeTasks('tasks/test.jsonl', 36);
