/**
 * Writes `tasks/train.jsonl` and `tasks/test.jsonl`: messages of guests, half bookings and half cancellations. The guests of
 * the held-out tasks have names that no training task has. Run it with another seed for other tasks: `node make-tasks.ts 7`.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { GuestTask } from './agl.config.ts';

const seed = process.argv[2] ?? '1';
let drawn = 0;

/** The next whole number in `[0, limit)` of the seed. */
function draw(limit: number): number {
  drawn += 1;
  return createHash('sha256').update(`${seed}/${drawn}`).digest().readUInt32BE() % limit;
}

function pick(choices: readonly string[]): string {
  return choices[draw(choices.length)] ?? '';
}

const trainingGuests =
  'Ada Ben Carl Dora Emil Fay Gus Hana Ida Jan Kim Lea Max Nora Otto Pia Quinn Ria Sam Tim Uma Vera Walt Xenia Yan Zoe'.split(
    ' ',
  );
const heldOutGuests = 'Anna Bob Cleo Dan Eva Finn Gina Hugo Iris Jon Kai Lou Mia Nils Olga Paul Rosa Sue Tom Vic'.split(
  ' ',
);

function drawTask(names: readonly string[]): GuestTask {
  const guest = pick(names);
  const other = pick(names.filter((name) => name !== guest));
  const hour = 12 + draw(11);
  const before = { [other]: 12 + draw(11) };
  if (draw(2) === 1) {
    const bookings = [`A table for ${guest} at ${hour}?`, `${guest} would come at ${hour}.`];
    return { message: pick(bookings), before, after: { ...before, [guest]: hour } };
  }
  const cancellations = [`Cancel ${guest}, please.`, `${guest} can not come.`];
  return { message: pick(cancellations), before: { ...before, [guest]: hour }, after: before };
}

function writeTasks(file: string, count: number, names: readonly string[]): void {
  const lines = Array.from({ length: count }, () => JSON.stringify(drawTask(names)));
  writeFileSync(new URL(file, import.meta.url), `${lines.join('\n')}\n`);
}

writeTasks('tasks/train.jsonl', 512, trainingGuests);
writeTasks('tasks/test.jsonl', 128, heldOutGuests);
