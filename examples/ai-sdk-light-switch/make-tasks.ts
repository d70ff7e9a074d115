/**
 * Writes `tasks/train.jsonl` and `tasks/test.jsonl`: requests about one lamp of a house. The lamp is always the other
 * way round before, so that doing nothing is wrong. Run it with another seed for other tasks: `node make-tasks.ts 7`.
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
  const isOn = draw(2) === 1;
  const lamps = Object.fromEntries([...names].sort().map((name) => [name, name === lamp ? !isOn : draw(2) === 1]));
  const wish = ['Turn lamp', 'Please turn', 'Switch'][draw(3)];
  return { request: `${wish} ${lamp} ${isOn ? 'on' : 'off'}`, lamps, wanted: { ...lamps, [lamp]: isOn } };
}

function writeTasks(file: string, count: number): void {
  const lines = Array.from({ length: count }, () => JSON.stringify(drawTask()));
  writeFileSync(new URL(file, import.meta.url), `${lines.join('\n')}\n`);
}

writeTasks('tasks/train.jsonl', 512);
writeTasks('tasks/test.jsonl', 128);
