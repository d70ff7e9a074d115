/**
 * Writes `tasks/train.jsonl` and `tasks/test.jsonl`: letters about a parcel, half of which ask where it is. Lockers are
 * random for every task, so that answers cannot be guessed. Run it with another seed for other tasks:
 * `node make-tasks.ts 7`.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { MailTask } from './agl.config.ts';

const seed = process.argv[2] ?? '1';
let drawn = 0;

/** The next whole number in `[0, limit)` of the seed. */
function draw(limit: number): number {
  drawn += 1;
  return createHash('sha256').update(`${seed}/${drawn}`).digest().readUInt32BE() % limit;
}

function drawParcel(): string {
  return String.fromCharCode(65 + draw(26)) + String(draw(10));
}

function drawTask(): MailTask {
  const parcels = new Set<string>();
  while (parcels.size < 4) parcels.add(drawParcel());
  const [parcel = ''] = parcels;
  const lockers = Object.fromEntries([...parcels].sort().map((name) => [name, 10 + draw(90)]));
  const questions = [`Where is ${parcel}?`, `Which locker has ${parcel}?`, `Where do I find ${parcel}?`];
  const complaints = [`${parcel} came broken.`, `I sent ${parcel} back.`, `${parcel} is not mine.`];
  return draw(2) === 1
    ? { letter: questions[draw(3)] ?? '', lockers, answer: String(lockers[parcel]) }
    : { letter: complaints[draw(3)] ?? '', lockers, answer: `A person will see to ${parcel}.` };
}

function writeTasks(file: string, count: number): void {
  const lines = Array.from({ length: count }, () => JSON.stringify(drawTask()));
  writeFileSync(new URL(file, import.meta.url), `${lines.join('\n')}\n`);
}

writeTasks('tasks/train.jsonl', 512);
writeTasks('tasks/test.jsonl', 128);
