/**
 * Writes `tasks/train.jsonl` and `tasks/test.jsonl`: descriptions of functions with their tests. Names and numbers are random, so that
 * no program can be remembered; no held-out description is in the training tasks. Run it with another seed for other tasks:
 * `node make-tasks.ts 7`.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { CodeTask } from './agent.ts';

const seed = process.argv[2] ?? '1';
let drawn = 0;

/** The next whole number in `[0, limit)` of the seed. */
function draw(limit: number): number {
  drawn += 1;
  return createHash('sha256').update(`${seed}/${drawn}`).digest().readUInt32BE() % limit;
}

/** A description of two operands, and what it means. */
interface Kind {
  readonly describe: (one: string, other: string) => string;
  readonly compute: (one: number, other: number) => number;
}

const kinds: readonly Kind[] = [
  { describe: (one, other) => `Add ${one} to ${other}.`, compute: (one, other) => one + other },
  { describe: (one, other) => `Take ${one} from ${other}.`, compute: (one, other) => other - one },
  { describe: (one, other) => `Multiply ${one} by ${other}.`, compute: (one, other) => one * other },
  { describe: (one, other) => `Divide ${one} by ${other}.`, compute: (one, other) => one / other },
];

const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];

function drawTask(): CodeTask {
  const first = letters[draw(letters.length)] ?? '';
  const rest = letters.filter((letter) => letter !== first);
  const second = rest[draw(rest.length)] ?? '';
  const constant = String(2 + draw(8));
  const operands =
    [
      [first, second],
      [second, first],
      [first, constant],
      [constant, first],
    ][draw(4)] ?? [];
  const parameters = operands.includes(second) ? [first, second] : [first];
  const [one = '', other = ''] = operands;
  const kind = kinds[draw(kinds.length)] ?? kinds[0];
  const tests = Array.from({ length: 4 }, () => {
    const input = parameters.map(() => 2 + draw(98));
    const numberOf = (operand: string): number => input[parameters.indexOf(operand)] ?? Number(operand);
    return { input, output: kind?.compute(numberOf(one), numberOf(other)) ?? 0 };
  });
  return { parameters, description: kind?.describe(one, other) ?? '', tests };
}

/** Descriptions that are already written. */
const written = new Set<string>();

function writeTasks(file: string, count: number): void {
  const lines: string[] = [];
  while (lines.length < count) {
    const task = drawTask();
    if (written.has(task.description)) continue;
    written.add(task.description);
    lines.push(JSON.stringify(task));
  }
  writeFileSync(new URL(file, import.meta.url), `${lines.join('\n')}\n`);
}

writeTasks('tasks/test.jsonl', 128);
writeTasks('tasks/train.jsonl', 512);
