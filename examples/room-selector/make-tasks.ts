/**
 * Writes `tasks/train.jsonl`, `tasks/validation.jsonl` and `tasks/test.jsonl`: meetings, each with its own random rooms, at least
 * one of which satisfies all constraints. Run it with another seed for others: `node make-tasks.ts 7`.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { bestRoom, type Room, type RoomTask } from './rooms.ts';

const seed = process.argv[2] ?? '1';
let drawn = 0;

/** The next whole number in `[0, limit)` of the seed. */
function draw(limit: number): number {
  drawn += 1;
  return createHash('sha256').update(`${seed}/${drawn}`).digest().readUInt32BE() % limit;
}

const equipment = ['projector', 'whiteboard', 'screen'];

function drawRoom(index: number): Room {
  const from = 8 + draw(8);
  return {
    id: `${String.fromCharCode(65 + index)}${1 + draw(9)}`,
    seats: 2 + draw(14),
    equipment: equipment.filter(() => draw(3) > 0),
    isAccessible: draw(2) === 1,
    booked: draw(2) === 1 ? [[from, from + 1 + draw(3)]] : [],
  };
}

function drawTask(): RoomTask {
  const task: RoomTask = {
    meeting: {
      start: 8 + draw(9),
      hours: 1 + draw(2),
      people: 2 + draw(9),
      needs: equipment.filter(() => draw(3) === 0),
      isAccessible: draw(3) === 0,
    },
    rooms: Array.from({ length: 8 }, (_, index) => drawRoom(index)),
  };
  return bestRoom(task) === undefined ? drawTask() : task;
}

function writeTasks(file: string, count: number): void {
  const lines = Array.from({ length: count }, () => JSON.stringify(drawTask()));
  writeFileSync(new URL(file, import.meta.url), `${lines.join('\n')}\n`);
}

writeTasks('tasks/train.jsonl', 24);
writeTasks('tasks/validation.jsonl', 24);
writeTasks('tasks/test.jsonl', 48);
