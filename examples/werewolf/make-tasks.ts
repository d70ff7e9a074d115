/**
 * Writes `tasks/train.jsonl` and `tasks/test.jsonl`: seats with roles. A third of the training games is self-play, in the
 * others the policy plays one team; held-out games are all of the latter kind, and have up to nine players, against up to seven in
 * training. Run it with another seed for other games: `node make-tasks.ts 7`.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { GameTask } from './agent.ts';
import type { Role } from './game.ts';

const seed = process.argv[2] ?? '1';
let drawn = 0;

/** The next whole number in `[0, limit)` of the seed. */
function draw(limit: number): number {
  drawn += 1;
  return createHash('sha256').update(`${seed}/${drawn}`).digest().readUInt32BE() % limit;
}

/** The list in random order. */
function shuffle<T>(items: readonly T[]): T[] {
  const rest = [...items];
  return items.flatMap(() => rest.splice(draw(rest.length), 1));
}

const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];

/** One wolf up to seven players, then two; a doctor from seven on. */
function rolesFor(players: number): Role[] {
  const wolves: Role[] = players < 8 ? ['wolf'] : ['wolf', 'wolf'];
  const special: Role[] = players < 7 ? ['seer'] : ['seer', 'doctor'];
  const villagers = Array.from({ length: players - wolves.length - special.length }, (): Role => 'villager');
  return shuffle([...wolves, ...special, ...villagers]);
}

/** Names are distinct letters. */
function drawGame(players: number, policy: GameTask['policy']): GameTask {
  const names = shuffle(letters);
  const roles = rolesFor(players).map((role, index): [string, Role] => [names[index] ?? '', role]);
  return { roles: Object.fromEntries(roles), policy };
}

function writeTasks(file: string, games: readonly GameTask[]): void {
  const lines = games.map((game) => JSON.stringify(game));
  writeFileSync(new URL(file, import.meta.url), `${lines.join('\n')}\n`);
}

const policies = ['both', 'wolves', 'village'] as const;
writeTasks(
  'tasks/train.jsonl',
  Array.from({ length: 192 }, (_, index) => drawGame(6 + (index % 2), policies[index % 3] ?? 'both')),
);
writeTasks(
  'tasks/test.jsonl',
  Array.from({ length: 64 }, (_, index) =>
    drawGame(6 + (Math.floor(index / 2) % 4), index % 2 === 0 ? 'wolves' : 'village'),
  ),
);
