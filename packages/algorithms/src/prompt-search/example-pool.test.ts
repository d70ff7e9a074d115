import type { PromptSearch, SearchedPrompt, TriedTask } from '@agentlightning/core/algorithm';
import { formatPrompt, promptVariables } from '@agentlightning/core/internal';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { aPrompt, type PlantedOptions, type PlantedWorld, plantedWorld } from '../../test/planted-prompt.ts';
import { seededRandom } from '../base/seeded-random.ts';
import { apo } from './apo.ts';
import { ExamplePool } from './example-pool.ts';
import { gepa } from './gepa.ts';

const searches: readonly (readonly [string, () => PromptSearch, number])[] = [
  ['apo', () => apo({ rounds: 8, beamWidth: 3, branchFactor: 3, maxRollouts: 2500 }), 2500],
  ['gepa', () => gepa({ maxRollouts: 1500 }), 1500],
];

const shots: Readonly<Record<string, SearchedPrompt>> = { shots: { kind: 'examples', count: 4 } };

/** A world with examples only, without noise. */
function examplesWorld(options: PlantedOptions = {}): PlantedWorld {
  return plantedWorld({ prompts: ['shots'], searched: shots, rules: 3, noise: 0, ...options });
}

/** The training tasks of the examples in a template. */
function tasksOf(template: string | undefined): readonly number[] {
  return [...(template ?? '').matchAll(/^Task (\d+) of/gm)].map(([, task]) => Number(task));
}

describe.each(searches)('examples with %s', (name, create, budget) => {
  test('are found without an optimiser model, within the budget, and each render as they were', async () => {
    const world = examplesWorld();
    const { best, history, rollouts, optimizerCalls, exampleTasks } = await create().run(world);
    expect(world.worth(best.prompts)).toBe(1);
    expect([optimizerCalls, world.asked()]).toEqual([0, 0]);
    expect(rollouts).toBeLessThanOrEqual(budget);
    for (const { prompts, examples } of history.slice(1)) {
      const prompt = prompts['shots'] ?? aPrompt();
      const tasks = tasksOf(prompt.template);
      expect(promptVariables(prompt)).toEqual([]);
      expect(formatPrompt(prompt, {})).toBe(tasks.map((task) => `Task ${task} of {${task % 3}}`).join('\n\n'));
      expect(new Set(tasks).size).toBe(tasks.length);
      expect(tasks.length).toBeLessThanOrEqual(4);
      // Every example is that of a training rollout of its task.
      const rollouts = world.trials.flatMap(({ split, occasion, tasks: tried }) =>
        split === 'train' ? tried.map((task) => `${occasion} ${task}`) : [],
      );
      expect(examples?.['shots']?.map(({ task }) => task)).toEqual(tasks);
      for (const { task, reward, rolloutId } of examples?.['shots'] ?? []) {
        expect([reward, rollouts.includes(rolloutId ?? ''), rolloutId?.endsWith(` ${task}`)]).toEqual([1, true, true]);
      }
    }
    expect(exampleTasks?.['shots']).toBeGreaterThan(0);
    expect(history[0]?.examples).toBeUndefined();
  });

  test('are searched in turn with prompts that a model rewrites', async () => {
    const world = plantedWorld({ prompts: ['answer', 'shots'], searched: shots, rules: 6, noise: 0 });
    const { best } = await create().run(world);
    expect(world.worth(best.prompts)).toBe(1);
    expect(world.asked()).toBeGreaterThan(3);
  });

  test.each([1, 2])('a stopped search draws the same after it is resumed: seed %i', async (seed) => {
    const options = { prompts: ['answer', 'shots'], searched: shots, rules: 6, seed };
    const whole = await create().run(plantedWorld(options));
    for (const stopAfterSaves of [1, 2, 3]) {
      const stopped = plantedWorld({ ...options, stopAfterSaves });
      expect((await create().run(stopped)).ended).toBe('stopped');
      const resumed = await create().run(plantedWorld({ ...options, saved: stopped.saves.at(-1) ?? null }));
      expect(resumed).toEqual(whole);
    }
  });

  test('of an exhausted search stay exhausted after it is resumed', async () => {
    const world = examplesWorld({ luck: 0 });
    const { ended, history, exampleTasks } = await create().run(world);
    const isApo = name === 'apo';
    // No rollout is better than the worst.
    expect([ended, history.length, exampleTasks]).toEqual(['no-new-version', 1, { shots: 0 }]);
    const resumed = examplesWorld({ luck: 0, saved: world.saves.at(-1) ?? null });
    expect((await create().run(resumed)).ended).toBe('no-new-version');
    expect(resumed.trials).toEqual([]);
    expect(world.trials.length).toBeLessThan(isApo ? 40 : 20);
  });

  test('do not need the state of older versions', async () => {
    const stopped = plantedWorld({ stopAfterSaves: 2 });
    await create().run(stopped);
    const { examples, ...saved } = stopped.saves.at(-1) ?? {};
    expect(examples).toBeDefined();
    expect(await create().run(plantedWorld({ saved }))).toEqual(await create().run(plantedWorld()));
  });

  test('get no requests for them: the others may use all of the limit', async () => {
    const options = { prompts: ['answer', 'shots'], searched: shots, rules: 6 };
    const world = plantedWorld(options);
    const limits = { maxRollouts: 2500, maxOptimizerCalls: 9 };
    const { optimizerCalls, ended } = await (name === 'apo' ? apo({ ...limits, rounds: 9 }) : gepa(limits)).run(world);
    expect([world.asked() <= 9, optimizerCalls, ended]).toEqual([true, world.asked(), 'budget']);
  });
});

test.each([1, 2, 3])(
  'gepa compares a version with its parent on tasks of which neither has an example: seed %i',
  async (seed) => {
    const world = examplesWorld({ seed, noise: 0.3 });
    await gepa({ maxRollouts: 1000 }).run(world);
    const compared = world.trials.filter(({ split }) => split === 'train');
    expect(compared.some(({ prompts }) => prompts['shots']?.template !== '')).toBe(true);
    for (const { prompts, tasks } of compared) {
      expect(tasksOf(prompts['shots']?.template).filter((task) => tasks.includes(task))).toEqual([]);
    }
  },
);

test('gepa leaves training tasks to draw from where all could be compared', async () => {
  const world = { ...examplesWorld(), trainTasks: 3 };
  await gepa({ maxRollouts: 300, reflectionTasks: 3 }).run(world);
  expect(world.trials.some(({ prompts }) => prompts['shots']?.template !== '')).toBe(true);
});

test('requests for the description of a tool say what it is for', async () => {
  const options = { prompts: ['track'], searched: { track: { kind: 'tool' } } } as const;
  for (const search of [apo({ rounds: 2 }), gepa({ maxRollouts: 300 })]) {
    const world = plantedWorld(options);
    const requests: string[] = [];
    const complete: typeof world.complete = (messages, request) => {
      requests.push(messages.map(({ content }) => content).join('\n'));
      return world.complete(messages, request);
    };
    const { best } = await search.run({ ...world, complete });
    expect(world.worth(best.prompts)).toBeGreaterThan(0);
    expect(requests.length).toBeGreaterThan(3);
    for (const request of requests) {
      expect(request).toContain('The description of the tool "track":');
      expect(request).toMatch(/name of the tool and its arguments cannot change/);
    }
  }
});

describe('a draw', () => {
  const tried = fc.array(
    fc.record({ task: fc.integer({ min: 0, max: 9 }), reward: fc.option(fc.integer({ min: -2, max: 2 })) }),
    { maxLength: 30 },
  );

  test('never has the worst rollouts or excluded tasks, and is determined by its seed', () => {
    fc.assert(
      fc.property(tried, fc.array(fc.nat(9), { maxLength: 4 }), fc.integer(), (rollouts, excluded, seed) => {
        const known = rollouts.map(
          ({ task, reward }, index): TriedTask => ({
            task,
            reward,
            transcript: '',
            examples: { shots: `${task} {${index}}` },
          }),
        );
        const drawn = (): string | undefined => {
          const pool = new ExamplePool({ searched: shots }, null);
          pool.add(known);
          const draw = { name: 'shots', prompts: { shots: aPrompt('') }, excluded, random: seededRandom(seed) };
          return pool.draw({ ...draw, isKnown: () => false })?.['shots']?.template;
        };
        const lowest = Math.min(...rollouts.flatMap(({ reward }) => reward ?? []));
        const template = drawn();
        expect(drawn()).toBe(template);
        const usable = rollouts.filter(({ task, reward }) => (reward ?? lowest) > lowest && !excluded.includes(task));
        expect(template === undefined).toBe(usable.length === 0);
        for (const [, index] of (template ?? '').matchAll(/\{\{(\d+)\}\}/g))
          expect(usable).toContain(rollouts[Number(index)]);
      }),
    );
  });
});
