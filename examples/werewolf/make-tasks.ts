/**
 * Writes `tasks/train.jsonl` and `tasks/test.jsonl`: seats with roles. A third of the training games is self-play, in the
 * others the policy plays one team; held-out games are all of the latter kind, and have up to nine players, against up to seven in
 * training. And `tasks/demonstrations.jsonl`: random legal turns of training games, against the model of rules. Run it with another
 * seed for other games: `node make-tasks.ts 7`.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { GameTask } from './agent.ts';
import {
  advance,
  type GameState,
  legalTargets,
  openTurns,
  playerNamed,
  type Role,
  startGame,
  type Turn,
  teamOf,
} from './game.ts';
import { chooseTarget } from './rule-player.ts';
import { messagesOf } from './view.ts';
import type { Demonstration } from './warm-up.config.ts';

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

/** Names are a letter and a digit, with distinct letters. */
function drawGame(players: number, policy: GameTask['policy']): GameTask {
  const names = shuffle(letters).map((letter) => `${letter}${draw(10)}`);
  const roles = rolesFor(players).map((role, index): [string, Role] => [names[index] ?? '', role]);
  return { roles: Object.fromEntries(roles), policy };
}

/** A turn with a random legal target, which is never the player itself; every second speech is silence. */
function drawTurn(prompt: Prompt, state: GameState, turn: Turn): Demonstration {
  const others = legalTargets(state, turn).filter((name) => name !== turn.player);
  const isSilent = turn.action === 'accuse' && draw(2) === 0;
  return { ...prompt, action: turn.action, target: isSilent ? null : (others[draw(others.length)] ?? null) };
}

type Prompt = Pick<Demonstration, 'system' | 'user'>;

function promptOf(state: GameState, turn: Turn): Prompt {
  const [system, user] = messagesOf(state, turn).map(({ content }) => String(content));
  return { system: system ?? '', user: user ?? '' };
}

/** The turns of the policy in a game of at most three days, with random decisions. The outside model plays by its rules. */
function drawDemonstrations({ roles, policy }: GameTask): readonly Demonstration[] {
  const demonstrations: Demonstration[] = [];
  let state = startGame(roles);
  while (state.winner === null && state.day <= 3) {
    const current = state;
    const decisions = openTurns(current).map((turn) => {
      const prompt = promptOf(current, turn);
      const team = teamOf(playerNamed(current, turn.player)?.role ?? 'villager');
      const isOutside = policy !== 'both' && policy !== team;
      const { target } = isOutside
        ? chooseTarget(prompt.system, prompt.user, turn.action)
        : drawTurn(prompt, current, turn);
      if (!isOutside) demonstrations.push({ ...prompt, action: turn.action, target });
      return { player: turn.player, target, text: target === null ? 'unknown' : `${target} is wolf.` };
    });
    state = advance(state, decisions);
  }
  return demonstrations;
}

function writeTasks(file: string, lines: readonly object[]): void {
  writeFileSync(new URL(file, import.meta.url), `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`);
}

const policies = ['both', 'wolves', 'village'] as const;

/** A game of six or seven players. */
function drawTrainingGame(index: number): GameTask {
  return drawGame(6 + (index % 2), policies[index % 3] ?? 'both');
}

writeTasks(
  'tasks/train.jsonl',
  Array.from({ length: 192 }, (_, index) => drawTrainingGame(index)),
);
writeTasks(
  'tasks/test.jsonl',
  Array.from({ length: 64 }, (_, index) =>
    drawGame(6 + (Math.floor(index / 2) % 4), index % 2 === 0 ? 'wolves' : 'village'),
  ),
);
const turns = Array.from({ length: 192 }, (_, index) => drawDemonstrations(drawTrainingGame(index)));
writeTasks('tasks/demonstrations.jsonl', shuffle(turns.flat()).slice(0, 2048));
