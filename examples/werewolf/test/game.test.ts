import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  advance,
  type Decision,
  type GameState,
  legalTargets,
  living,
  openTurns,
  type Role,
  startGame,
  teamOf,
} from '../game.ts';

/** Seats of six to nine players with at least one wolf, fewer than half of all. */
const seats = fc
  .integer({ min: 6, max: 9 })
  .chain((players) =>
    fc.tuple(
      fc.integer({ min: 1, max: Math.floor((players - 1) / 2) }),
      fc.shuffledSubarray(['A1', 'B2', 'C3', 'D4', 'E5', 'F6', 'G7', 'H8', 'I9'], {
        minLength: players,
        maxLength: players,
      }),
    ),
  )
  .map(([wolves, names]) =>
    Object.fromEntries(
      names.map((name, index): [string, Role] => [
        name,
        index < wolves ? 'wolf' : index === wolves ? 'seer' : index === wolves + 1 ? 'doctor' : 'villager',
      ]),
    ),
  );

/** A choice for every decision of a game: a legal one, a name that may be illegal, or none. */
const choices = fc.infiniteStream(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ legal: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ name: fc.constantFrom('A1', 'C3', 'I9', 'Z26') }) },
    { weight: 1, arbitrary: fc.constant(null) },
  ),
);

type Choice = { readonly legal: number } | { readonly name: string } | null;

/** All states of a game of at most 12 days. */
function play(roles: Record<string, Role>, stream: Iterator<Choice>): GameState[] {
  const states = [startGame(roles)];
  for (let state = states[0]; state !== undefined && state.winner === null && state.day <= 12; state = states.at(-1)) {
    const current = state;
    const decisions = openTurns(current).map((turn): Decision => {
      const choice: Choice = stream.next().value;
      if (choice === null) return { player: turn.player, target: null };
      if ('name' in choice) return { player: turn.player, target: choice.name };
      const targets = legalTargets(current, turn);
      return { player: turn.player, target: targets[choice.legal % targets.length] ?? null };
    });
    states.push(advance(deepFreeze(current), decisions));
  }
  return states;
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}

/** Checks a property of each state and its successor, over random games. */
function forEveryStep(check: (before: GameState, after: GameState) => void): void {
  fc.assert(
    fc.property(seats, choices, (roles, stream) => {
      const states = play(roles, stream);
      for (const [index, after] of states.entries()) {
        const before = states[index - 1];
        if (before !== undefined) check(before, after);
      }
    }),
  );
}

const aliveNames = (state: GameState): string[] => living(state).map(({ name }) => name);

test('the dead stay dead, and at most one player dies at a time', () => {
  forEveryStep((before, after) => {
    expect(aliveNames(before)).toEqual(expect.arrayContaining(aliveNames(after)));
    expect(living(before).length - living(after).length).toBeLessThanOrEqual(1);
  });
});

test('names, roles and seats never change', () => {
  forEveryStep((before, after) => {
    expect(after.players.map(({ name, role }) => [name, role])).toEqual(
      before.players.map(({ name, role }) => [name, role]),
    );
  });
});

test('only living players decide, each at most once at a time, until the game is over', () => {
  forEveryStep((_, after) => {
    const players = openTurns(after).map(({ player }) => player);
    expect(aliveNames(after)).toEqual(expect.arrayContaining(players));
    expect(new Set(players).size).toBe(players.length);
    expect(players.length === 0).toBe(after.phase === 'over');
  });
});

test('a game has a winner exactly when no wolf lives or wolves are no minority', () => {
  forEveryStep((_, after) => {
    const wolves = living(after).filter(({ role }) => teamOf(role) === 'wolves').length;
    const others = living(after).length - wolves;
    expect(after.winner).toBe(wolves === 0 ? 'village' : wolves >= others ? 'wolves' : null);
  });
});

test('wolves do not die at night, and the guarded player does not either', () => {
  fc.assert(
    fc.property(seats, fc.nat(), fc.nat(), (roles, victim, guard) => {
      const state = startGame(roles);
      const [targets, names] = [legalTargets(state, { player: firstWolf(roles), action: 'kill' }), Object.keys(roles)];
      const [killed, guarded] = [targets[victim % targets.length] ?? '', names[guard % names.length] ?? ''];
      const decisions = openTurns(state).map(({ player, action }) => ({
        player,
        target: action === 'kill' ? killed : action === 'guard' ? guarded : null,
      }));
      const after = advance(state, decisions);
      const hasDoctor = Object.values(roles).includes('doctor');
      expect(after.lastDeath).toBe(hasDoctor && killed === guarded ? null : killed);
      expect(roles[killed]).not.toBe('wolf');
    }),
  );
});

const firstWolf = (roles: Record<string, Role>): string =>
  Object.entries(roles).find(([, role]) => role === 'wolf')?.[0] ?? '';

test('a day has one speech per living player, and each speaker hears those before', () => {
  const roles: Record<string, Role> = {
    A1: 'wolf',
    B2: 'seer',
    C3: 'villager',
    D4: 'villager',
    E5: 'villager',
    F6: 'wolf',
  };
  let state = advance(startGame(roles), [{ player: 'A1', target: 'C3' }]);
  const speakers: string[] = [];
  while (state.phase === 'speeches') {
    const [turn] = openTurns(state);
    speakers.push(turn?.player ?? '');
    state = advance(state, [{ player: turn?.player ?? '', target: null, text: `speech ${speakers.length}` }]);
  }
  expect(speakers).toEqual(['A1', 'B2', 'D4', 'E5', 'F6']);
  expect(state.speeches.map(({ text }) => text)).toEqual(speakers.map((_, index) => `speech ${index + 1}`));
});

test('a tie of votes has no consequence', () => {
  const roles: Record<string, Role> = { A1: 'wolf', B2: 'seer', C3: 'villager', D4: 'villager' };
  const state: GameState = { ...startGame(roles), phase: 'vote' };
  const after = advance(state, [
    { player: 'A1', target: 'B2' },
    { player: 'B2', target: 'A1' },
  ]);
  expect(after).toMatchObject({ lastDeath: null, day: 2, phase: 'night' });
});
