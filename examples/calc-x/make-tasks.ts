/**
 * Writes `tasks/train.jsonl` and `tasks/test.jsonl`: word problems; and `tasks/demonstrations.jsonl`: calculations for
 * problems with other numbers, in which the operations of most expressions are random. Run it with another seed for
 * other tasks: `node make-tasks.ts 7`.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { evaluate, format } from 'mathjs';
import type { ProblemTask } from './agl.config.ts';
import type { Demonstration } from './demonstration.ts';

const seed = process.argv[2] ?? '1';
let drawn = 0;

/** The next whole number in `[0, limit)` of the seed. */
function draw(limit: number): number {
  drawn += 1;
  return createHash('sha256').update(`${seed}/${drawn}`).digest().readUInt32BE() % limit;
}

function pick<T>(choices: readonly [T, ...T[]]): T {
  return choices[draw(choices.length)] ?? choices[0];
}

/** A word problem whose answer is the value of the expression. */
interface Problem {
  readonly question: string;
  readonly numbers: readonly number[];
  readonly expression: string;
}

const kinds: readonly [(name: string, thing: string) => Problem, ...((name: string, thing: string) => Problem)[]] = [
  (name, thing) => {
    const [a, b] = [10 + draw(90), 10 + draw(90)];
    const question = pick([
      `${name} has ${a} ${thing} and gets ${b} more. How many now?`,
      `${name} buys ${a} ${thing}, then ${b}. How many in all?`,
    ]);
    return { question, numbers: [a, b], expression: `${a}+${b}` };
  },
  (name, thing) => {
    const b = 10 + draw(40);
    const a = b + 1 + draw(99 - b);
    const question = pick([
      `${name} has ${a} ${thing} and loses ${b}. How many are left?`,
      `Of ${a} ${thing}, ${name} sells ${b}. How many remain?`,
    ]);
    return { question, numbers: [a, b], expression: `${a}-${b}` };
  },
  (name, thing) => {
    const [a, b] = [10 + draw(90), 10 + draw(90)];
    const question = pick([
      `${name} fills ${a} boxes with ${b} ${thing} each. How many ${thing}?`,
      `${name} has ${a} bags of ${b} ${thing}. How many ${thing}?`,
    ]);
    return { question, numbers: [a, b], expression: `${a}*${b}` };
  },
  (name, thing) => {
    const b = 2 + draw(8);
    const a = b * (2 + draw(Math.floor(99 / b) - 1));
    const question = pick([
      `${name} shares ${a} ${thing} among ${b} friends. How many each?`,
      `${name} puts ${a} ${thing} evenly on ${b} plates. How many on each?`,
    ]);
    return { question, numbers: [a, b], expression: `${a}/${b}` };
  },
  (name, thing) => {
    const [a, b, c] = [10 + draw(90), 10 + draw(90), 10 + draw(90)];
    const question = `${name} fills ${a} boxes with ${b} ${thing} each and loses ${c}. How many are left?`;
    return { question, numbers: [a, b, c], expression: `${a}*${b}-${c}` };
  },
];

const names = ['Ann', 'Ben', 'Cleo', 'Dan', 'Eva', 'Finn', 'Gus', 'Ida', 'Jon', 'Kim', 'Lea', 'Max'] as const;
const things = ['eggs', 'nuts', 'pens', 'figs', 'keys', 'cups', 'coins', 'books', 'plums', 'cards'] as const;

function drawProblem(): Problem {
  return pick(kinds)(pick(names), pick(things));
}

function calculate(expression: string): string {
  return format(evaluate(expression), { precision: 4, upperExp: 9 });
}

/** A calculation for the numbers of a problem: the right one for four problems in ten, else one with random operations. */
function drawDemonstration(): Demonstration {
  const { question, numbers, expression: right } = drawProblem();
  const [first = 0, ...others] = numbers;
  const random = others.reduce((left, number) => `${left}${pick(['+', '-', '*', '/'])}${number}`, String(first));
  const expression = draw(10) < 4 ? right : random;
  return { question, expression, result: calculate(expression) };
}

function drawTask(): ProblemTask {
  const { question, expression } = drawProblem();
  return { question, answer: calculate(expression) };
}

function writeTasks(file: string, count: number, drawLine: () => object): void {
  const lines = new Set<string>();
  while (lines.size < count) lines.add(JSON.stringify(drawLine()));
  writeFileSync(new URL(file, import.meta.url), `${[...lines].join('\n')}\n`);
}

writeTasks('tasks/train.jsonl', 512, drawTask);
writeTasks('tasks/test.jsonl', 128, drawTask);
writeTasks('tasks/demonstrations.jsonl', 2048, drawDemonstration);
