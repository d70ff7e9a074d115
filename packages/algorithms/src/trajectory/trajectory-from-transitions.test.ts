import type { TrajectoryRow, Transition } from '@agentlightning/core/algorithm';
import { aTransition, deepFreeze, logprobOf } from '@agentlightning/core/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type BuiltTrajectory, trajectoryFromTransitions } from './trajectory-from-transitions.ts';

const build = (transitions: readonly Transition[]): BuiltTrajectory =>
  trajectoryFromTransitions({ rolloutId: 'ro-1', attemptId: 'at-1', groupId: 'gr-1', reward: 1, transitions });

type Tokens = readonly [prompt: readonly number[], response: readonly number[]];

const turn = (sequenceId: number, [prompt, response]: Tokens, more: Partial<Transition> = {}): Transition =>
  aTransition({ sequenceId, promptTokenIds: prompt, responseTokenIds: response, ...more });

test('a prompt that continues exactly becomes one row; what the environment said is not trained on', () => {
  const { trajectory, splits } = build([
    turn(
      1,
      [
        [1, 2],
        [10, 11],
      ],
      { reward: 0.5, policyVersion: 3 },
    ),
    turn(4, [[1, 2, 10, 11, 3], [12]], { agentName: null, policyVersion: 4 }),
  ]);
  expect(splits).toEqual({});
  expect(trajectory).toMatchObject({ rolloutId: 'ro-1', attemptId: 'at-1', groupId: 'gr-1', reward: 1 });
  expect(trajectory.rows).toEqual([
    {
      tokenIds: [1, 2, 10, 11, 3, 12],
      trained: [
        { start: 2, end: 4, sequenceId: 1, agentName: null, reward: 0.5, policyVersion: 3 },
        { start: 5, end: 6, sequenceId: 4, agentName: null, reward: null, policyVersion: 4 },
      ],
      samplingLogprobs: [10, 11, 12].map(logprobOf),
      temperature: 1,
    },
  ]);
});

test('at the level of transitions every call is a separate row, in the order of the calls', () => {
  const transitions = [
    aTransition({ sequenceId: 2, promptTokenIds: [1, 2, 3, 4, 5, 6], responseTokenIds: [7] }),
    aTransition({ sequenceId: 1, promptTokenIds: [1, 2, 3], responseTokenIds: [4, 5] }),
  ];
  const input = { rolloutId: 'ro-1', attemptId: 'at-1', groupId: 'gr-1', reward: 1, transitions };
  const { trajectory, splits } = trajectoryFromTransitions({ ...input, level: 'transition' });
  expect(trajectory.rows.map(({ tokenIds }) => tokenIds)).toEqual([
    [1, 2, 3, 4, 5],
    [1, 2, 3, 4, 5, 6, 7],
  ]);
  expect(trajectory.rows.map(({ trained }) => trained.map(({ start, end }) => [start, end]))).toEqual([
    [[3, 5]],
    [[6, 7]],
  ]);
  expect(splits).toEqual({});
  expect(trajectoryFromTransitions(input).trajectory.rows).toHaveLength(1);
});

test('no transitions give a trajectory without rows that keeps its reward', () => {
  expect(build([]).trajectory).toMatchObject({ rows: [], reward: 1 });
});

describe('a row is split and the reason counted', () => {
  const first = turn(1, [
    [1, 2],
    [10, 11],
  ]);

  test.each([
    ['a response token was changed', [1, 2, 10, 99, 3]],
    ['a token was lost at the start: off by one', [2, 10, 11, 3]],
    ['a token was lost at the end: off by one', [1, 2, 10]],
    ['a token was doubled: off by one', [1, 1, 2, 10, 11, 3]],
    ['reasoning was dropped from the response', [1, 2, 3]],
  ])('when %s', (_, prompt) => {
    const { trajectory, splits } = build([first, turn(2, [prompt, [12]])]);
    expect(trajectory.rows.map((row) => row.tokenIds)).toEqual([
      [1, 2, 10, 11],
      [...prompt, 12],
    ]);
    expect(splits).toEqual({ prompt_rewritten: 1 });
  });

  test('when the temperature changed', () => {
    const { trajectory, splits } = build([first, turn(2, [[1, 2, 10, 11, 3], [12]], { temperature: 0.5 })]);
    expect(trajectory.rows.map((row) => row.temperature)).toEqual([1, 0.5]);
    expect(splits).toEqual({ temperature_changed: 1 });
  });

  test('when a call is made again, or has several choices', () => {
    const { trajectory, splits } = build([first, turn(1, [[1, 2], [13]]), turn(2, [[1, 2], [14]])]);
    expect(trajectory.rows).toHaveLength(3);
    expect(splits).toEqual({ same_prompt: 2 });
  });

  test('when another agent begins', () => {
    const { splits } = build([first, turn(2, [[7, 8], [12]], { agentName: 'critic' })]);
    expect(splits).toEqual({ new_agent: 1 });
  });
});

test('agents that work at the same time do not break each other’s rows', () => {
  const { trajectory, splits } = build([
    turn(1, [[1], [10]], { agentName: 'a' }),
    turn(2, [[2], [20]], { agentName: 'b' }),
    turn(3, [[1, 10, 3], [11]], { agentName: 'a' }),
    turn(4, [[2, 20, 3], [21]], { agentName: 'b' }),
  ]);
  expect(trajectory.rows.map((row) => row.tokenIds)).toEqual([
    [1, 10, 3, 11],
    [2, 20, 3, 21],
  ]);
  expect(splits).toEqual({ new_agent: 1 });
});

test('a choice that the agent used is continued, the others are unchanged', () => {
  const { trajectory } = build([turn(1, [[1], [10]]), turn(1, [[1], [20]]), turn(2, [[1, 20, 3], [30]])]);
  expect(trajectory.rows.map((row) => row.tokenIds)).toEqual([
    [1, 10],
    [1, 20, 3, 30],
  ]);
});

test('a transition of another attempt is refused', () => {
  expect(() => build([turn(1, [[1], [2]], { attemptId: 'at-2' })])).toThrow(
    /transitions\[0\]: it belongs to ro-1\/at-2/,
  );
});

/** What an agent may do next: continue one of its histories, rewrite it, or begin another. */
interface Move {
  readonly history: number;
  readonly dropped: number;
  readonly observation: readonly number[];
  readonly response: readonly number[];
  readonly temperature: number;
}

// Few different tokens, so that prefixes agree by accident too.
const tokens = fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 4 });
const moves: fc.Arbitrary<readonly Move[]> = fc.array(
  fc.record({
    history: fc.nat({ max: 2 }),
    dropped: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat({ max: 3 })),
    observation: tokens,
    response: fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 3 }),
    temperature: fc.oneof({ weight: 5, arbitrary: fc.constant(1) }, fc.constant(0.5)),
  }),
  { maxLength: 12 },
);

function play(sequence: readonly Move[]): readonly Transition[] {
  const histories: number[][] = [[], [], []];
  return sequence.map(({ history, dropped, observation, response, temperature }, index) => {
    const before = histories[history] ?? [];
    const prompt = [0, ...before.slice(1, before.length - dropped), ...observation];
    histories[history] = [...prompt, ...response];
    return turn(index + 1, [prompt, response], { temperature });
  });
}

/** The definition, tried out on every row. */
function rowsByDefinition(transitions: readonly Transition[]): readonly (readonly number[])[] {
  const rows: { tokenIds: readonly number[]; temperature: number }[] = [];
  for (const { promptTokenIds: prompt, responseTokenIds, temperature } of transitions) {
    const continued = rows
      .filter((row) => row.temperature === temperature && row.tokenIds.every((token, index) => token === prompt[index]))
      .toSorted((one, other) => other.tokenIds.length - one.tokenIds.length)[0];
    const row = continued ?? { tokenIds: [], temperature };
    if (continued === undefined) rows.push(row);
    row.tokenIds = [...prompt, ...responseTokenIds];
  }
  return rows.map((row) => row.tokenIds).toSorted(byText);
}

const byText = (one: unknown, other: unknown): number => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1);

describe('whatever the agent does', () => {
  const always = (check: (transitions: readonly Transition[], rows: readonly TrajectoryRow[]) => void): void => {
    fc.assert(
      fc.property(moves, (sequence) => {
        const transitions = deepFreeze(play(sequence));
        check(transitions, build(transitions).trajectory.rows);
      }),
      { numRuns: 300 },
    );
  };

  test('every response is trained once, after exactly the prompt it was sampled from', () => {
    always((transitions, rows) => {
      const seen = rows.flatMap((row) =>
        row.trained.map(({ start, end, sequenceId }) => ({
          sequenceId,
          prompt: row.tokenIds.slice(0, start),
          response: row.tokenIds.slice(start, end),
        })),
      );
      const sent = transitions.map((transition) => ({
        sequenceId: transition.sequenceId,
        prompt: transition.promptTokenIds,
        response: transition.responseTokenIds,
      }));
      expect(seen.toSorted((one, other) => one.sequenceId - other.sequenceId)).toEqual(sent);
    });
  });

  test('intervals are in order, end with the row, and each trained token has its log-probability', () => {
    always((_, rows) => {
      for (const { tokenIds, trained, samplingLogprobs } of rows) {
        expect(trained.at(-1)?.end).toBe(tokenIds.length);
        for (const [index, { start, end }] of trained.entries()) {
          expect(start).toBeGreaterThanOrEqual(trained[index - 1]?.end ?? 1);
          expect(end).toBeGreaterThan(start);
        }
        expect(samplingLogprobs).toEqual(
          trained.flatMap(({ start, end }) => tokenIds.slice(start, end).map(logprobOf)),
        );
      }
    });
  });

  test('a row is split only where none could be continued, and the longest one is continued', () => {
    always((transitions, rows) => {
      expect(rows.map((row) => row.tokenIds).toSorted(byText)).toEqual(rowsByDefinition(transitions));
    });
  });

  test('there is one row more than there are splits, and the order of the transitions does not matter', () => {
    fc.assert(
      fc.property(moves, (sequence) => {
        const transitions = play(sequence);
        const built = build(transitions);
        const splits = Object.values(built.splits).reduce((sum, count) => sum + count, 0);
        expect(built.trajectory.rows).toHaveLength(transitions.length === 0 ? 0 : splits + 1);
        expect(build(transitions.toReversed())).toEqual(built);
      }),
    );
  });
});

test('images belong to the turn that first has them, and equal tokens of another image are another row', () => {
  const png = (name: string): string => `data:image/png;base64,${name}`;
  const { trajectory, splits } = build([
    turn(1, [[9, 9], [1]], { images: [png('a')] }),
    turn(2, [[9, 9, 1, 9, 9], [2]], { images: [png('a'), png('b')] }),
    turn(3, [[9, 9, 1, 9, 9], [3]], { images: [png('c'), png('b')] }),
  ]);
  expect(splits).toEqual({ same_prompt: 1 });
  expect(trajectory.rows.map(({ images }) => images)).toEqual([
    [
      { url: png('a'), turn: 0 },
      { url: png('b'), turn: 1 },
    ],
    [
      { url: png('c'), turn: 0 },
      { url: png('b'), turn: 0 },
    ],
  ]);
});
