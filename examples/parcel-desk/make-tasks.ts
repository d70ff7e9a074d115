/**
 * Writes `tasks/train.jsonl`, `tasks/validation.jsonl` and `tasks/test.jsonl`: messages, each about one thing. The same things
 * come in all three, in other words. Run it with another seed for other messages: `node make-tasks.ts 7`.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { DeskTask } from './desk.ts';

const seed = process.argv[2] ?? '1';
let drawn = 0;

/** The next whole number in `[0, limit)` of the seed. */
function draw(limit: number): number {
  drawn += 1;
  return createHash('sha256').update(`${seed}/${drawn}`).digest().readUInt32BE() % limit;
}

/** What messages are about. */
const things: readonly (readonly [text: string, tool: DeskTask['tool'], code: DeskTask['code']])[] = [
  ['I was charged twice', 'find_order', 'K4'],
  ['the invoice has the wrong address', 'find_order', 'K4'],
  ['I want to cancel', 'find_order', 'K2'],
  ['the delivery is late', 'find_parcel', 'K5'],
  ['the tracking shows nothing', 'find_parcel', 'K5'],
  ['the box arrived broken', 'find_parcel', 'K1'],
  ['my password does not work', 'find_account', 'K3'],
  ['the verification code never came', 'find_account', 'K3'],
];

const openings = ['Hello,', 'Please help:', 'Once more:', 'I have to write again:', 'Good morning,', 'Sorry, but'];
const endings = ['Thanks!', 'Who can look at it?', 'I am in a hurry.', 'It is the 2nd time.', 'Please reply soon.'];

function drawTask(index: number): DeskTask {
  const [text = '', tool = 'find_order', code = 'K1'] = things[index % things.length] ?? [];
  const number = String(10_000 + draw(90_000));
  const opening = openings[draw(openings.length)];
  const ending = endings[draw(endings.length)];
  return { message: `${opening} ${text}, number ${number}. ${ending}`, number, tool, code };
}

function writeTasks(file: string, count: number): void {
  const lines = Array.from({ length: count }, (_, index) => JSON.stringify(drawTask(index)));
  writeFileSync(new URL(file, import.meta.url), `${lines.join('\n')}\n`);
}

writeTasks('tasks/train.jsonl', 32);
writeTasks('tasks/validation.jsonl', 24);
writeTasks('tasks/test.jsonl', 48);
