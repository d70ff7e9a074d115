import type { PromptTemplateResource } from '@agentlightning/core';
import type { PromptSearch } from '@agentlightning/core/algorithm';
import { formatPrompt, promptVariables, strayBrace } from '@agentlightning/core/internal';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { aPrompt, plantedWorld } from '../../test/planted-prompt.ts';
import { apo } from './apo.ts';
import { gepa, mergePrompts } from './gepa.ts';
import { promptOfReply } from './optimizer-replies.ts';
import { paretoFront } from './pareto-front.ts';
import { assertSameVariables, withLiteralBraces } from './prompt-variables.ts';
import { rewritePrompt } from './rewrite-prompt.ts';
import { LimitedOptimizer } from './search-budget.ts';

const searches: readonly (readonly [string, () => PromptSearch, number])[] = [
  ['apo', () => apo({ rounds: 8, beamWidth: 3, branchFactor: 3, maxRollouts: 2500 }), 2500],
  ['gepa', () => gepa({ maxRollouts: 1500 }), 1500],
];

describe.each(searches)('%s', (_, create, budget) => {
  test.each([1, 2, 3])('finds the planted prompt under noise and within its budget: seed %i', async (seed) => {
    const world = plantedWorld({ seed });
    const { best, rollouts } = await create().run(world);
    expect(world.worth(best.prompts)).toBe(1);
    expect(rollouts).toBeLessThanOrEqual(budget);
  });

  test('random edits do not', async () => {
    const world = plantedWorld({ optimizer: 'random' });
    const { best } = await create().run(world);
    expect(world.worth(best.prompts)).toBeLessThan(0.7);
  });

  test('improves a set of several prompts, each where it is wrong', async () => {
    const world = plantedWorld({ prompts: ['planner', 'solver'], rules: 4 });
    const { best } = await create().run(world);
    expect(world.worth(best.prompts)).toBe(1);
    expect(best.prompts['planner']?.template).toMatch(/RULE-0;[\s\S]*RULE-2;|RULE-2;[\s\S]*RULE-0;/);
    expect(best.prompts['solver']?.template).not.toMatch(/RULE-0;/);
  });

  test('tries several versions at the same time', async () => {
    const world = plantedWorld();
    await create().run(world);
    expect(world.mostAtOnce()).toBeGreaterThan(2);
  });

  test('a search that is stopped resumes where it was, and ends where an uninterrupted one does', async () => {
    const whole = await create().run(plantedWorld());
    const stopped = plantedWorld({ stopAfterSaves: 2 });
    expect((await create().run(stopped)).ended).toBe('stopped');
    const resumed = await create().run(plantedWorld({ saved: stopped.saves.at(-1) ?? null }));
    expect(resumed).toEqual(whole);
  });

  test('a search that is stopped in the middle of what it does loses nothing of it', async () => {
    const whole = await create().run(plantedWorld());
    const world = plantedWorld();
    const stop = new AbortController();
    const complete: typeof world.complete = (messages, request) => {
      if (world.asked() === 4) stop.abort();
      return world.complete(messages, request);
    };
    expect((await create().run({ ...world, complete, signal: stop.signal })).ended).toBe('stopped');
    expect(await create().run(plantedWorld({ saved: world.saves.at(-1) ?? null }))).toEqual(whole);
  });

  test('the same seed makes the same decisions, another seed makes others', async () => {
    const decisions = async (seed: number): Promise<unknown> => {
      const world = plantedWorld({ seed });
      const { history, ended } = await create().run(world);
      return { history, ended, occasions: world.occasions.toSorted(), saves: world.saves };
    };
    expect(await decisions(5)).toEqual(await decisions(5));
    expect(await decisions(6)).not.toEqual(await decisions(5));
  });

  test('judges the same prompts as one version', async () => {
    const { history } = await create().run(plantedWorld());
    const texts = history.map(({ prompts }) => prompts['answer']?.template);
    expect(new Set(texts).size).toBe(texts.length);
  });

  test('no two trials and no two questions are of the same occasion', async () => {
    const world = plantedWorld();
    await create().run(world);
    expect(new Set(world.occasions).size).toBe(world.occasions.length);
  });

  test.each([7, 30])('asks its model no more often than it may: %i times', async (most) => {
    const world = plantedWorld();
    const limits = { maxRollouts: 1500, maxOptimizerCalls: most };
    const search = create().name === 'apo' ? apo({ ...limits, beamWidth: 3, branchFactor: 3 }) : gepa(limits);
    const { optimizerCalls, ended } = await search.run(world);
    expect(world.asked()).toBe(optimizerCalls);
    expect(optimizerCalls).toBeLessThanOrEqual(most);
    expect(ended).toBe('budget');
  });

  test('an optimiser model without valid replies ends the search, and its replies are counted', async () => {
    const world = plantedWorld();
    let replies = 0;
    const complete: typeof world.complete = async () => {
      replies += 1;
      return '<prompt>';
    };
    const error: unknown = await create()
      .run({ ...world, complete })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'UPSTREAM_FAILED',
      message: expect.stringMatching(
        /replies of the optimiser model had no valid prompt; the last: There is no prompt/,
      ),
    });
    expect(replies).toBeLessThan(60);
    expect(world.saves.at(-1)).toMatchObject({ used: { unusableReplies: expect.any(Number) } });
  });

  test('an optimiser model that repeats the prompt ends the search', async () => {
    const world = plantedWorld();
    let replies = 0;
    const complete: typeof world.complete = async () => {
      replies += 1;
      return `<prompt>${Object.values(world.initial)[0]?.template}</prompt>`;
    };
    const search = create().name === 'apo' ? apo({ rounds: 100 }) : gepa();
    const { ended, best, history } = await search.run({ ...world, complete });
    expect({ ended, best: best.version, versions: history.length }).toEqual({
      ended: 'no-new-version',
      best: 'v0',
      versions: 1,
    });
    expect(replies).toBeLessThan(60);
  });

  test('a task without a score does not count as a failed task', async () => {
    const world = plantedWorld({ isUnjudged: (task) => task % 6 === 0, noise: 0 });
    const { history } = await create().run(world);
    expect(history[0]?.scoredTasks).toBe(20);
    expect(history[0]?.score).toBe(0);
    const solved = history.find(({ prompts, scoredTasks }) => world.worth(prompts) === 1 && scoredTasks === 20);
    if (solved !== undefined) expect(solved.score).toBe(1);
  });

  test('sends its constraints to the model with every request', async () => {
    const systemPrompts: string[] = [];
    const world = plantedWorld();
    const complete: typeof world.complete = (messages, request) => {
      systemPrompts.push(messages.find(({ role }) => role === 'system')?.content ?? '');
      return world.complete(messages, request);
    };
    const heed = { maxRollouts: 300, guidance: 'No prompt may be longer than a page.' };
    await (create().name === 'apo' ? apo({ ...heed, beamWidth: 2, branchFactor: 2 }) : gepa(heed)).run({
      ...world,
      complete,
    });
    expect(systemPrompts.length).toBeGreaterThan(3);
    expect(systemPrompts.filter((text) => !text.endsWith('\n\nNo prompt may be longer than a page.'))).toEqual([]);
  });

  test('ends when it has what it was to find', async () => {
    const limits = { maxRollouts: 2500, stopAtScore: 0.6 };
    const search =
      create().name === 'apo' ? apo({ ...limits, rounds: 8, beamWidth: 3, branchFactor: 3 }) : gepa(limits);
    const { best, ended, history } = await search.run(plantedWorld());
    expect(ended).toBe('finished');
    expect(best.score).toBeGreaterThanOrEqual(0.6);
    expect(history.length).toBeLessThan((await create().run(plantedWorld())).history.length);
  });

  test('a state that another search saved is refused', async () => {
    const saved = { search: 'something else' };
    await expect(create().run(plantedWorld({ saved }))).rejects.toMatchObject({ code: 'VALIDATION' });
  });

  test('the last round has as many branches as the budget covers', async () => {
    const world = plantedWorld({ noise: 0 });
    // After the 24 rollouts of the baseline, the cost of two branches and not of three.
    const search = create().name === 'apo' ? apo({ maxRollouts: 110 }) : gepa({ maxRollouts: 24 + 89 });
    const { ended } = await search.run(world);
    expect(ended).toBe('budget');
    const branches = world.occasions.filter((occasion) => /1\/(branch|proposal)-\d+(\/before)?$/.test(occasion));
    expect(branches).toHaveLength(2);
  });

  test('with no budget for more, the beginning is the result', async () => {
    const world = plantedWorld();
    const none = create().name === 'apo' ? apo({ maxRollouts: 30 }) : gepa({ maxRollouts: 30 });
    const { best, ended, rollouts } = await none.run(world);
    expect([best.version, ended, rollouts, world.asked()]).toEqual(['v0', 'budget', 24, 0]);
    const less = create().name === 'apo' ? apo({ maxRollouts: 20 }) : gepa({ maxRollouts: 20 });
    await expect(less.run(plantedWorld())).rejects.toThrow(/maxRollouts is 20, but the evaluation of .* takes 24/);
  });
});

test('wrong options are refused with their names', () => {
  expect(() => apo({ rounds: 0 })).toThrow(/algorithm apo: rounds: .*, not 0/);
  expect(() => gepa(JSON.parse('{"rounds":1}'))).toThrow(/algorithm gepa: there is no option "rounds"/);
});

describe('variables of templates', () => {
  const jinja: PromptTemplateResource = { ...aPrompt('{{ name }} and {{- other | upper }}'), engine: 'jinja' };

  test('are found in each engine; doubled braces are none in an f-string', () => {
    expect(promptVariables(aPrompt('{b} {a} {{no}} {b} { no }'))).toEqual(['a', 'b']);
    expect(promptVariables(jinja)).toEqual(['name', 'other']);
  });

  test('must be the same after rewriting', () => {
    expect(() => assertSameVariables(aPrompt('{a} {b}'), aPrompt('{b} x {a}'))).not.toThrow();
    expect(() => assertSameVariables(aPrompt('{a} {b}'), aPrompt('{b} {c}'))).toThrow(
      /lacks the variables a and has the unknown variables c/,
    );
  });

  test('that are lost are asked for again, with what is wrong; a model that cannot keep them is given up', async () => {
    const request = {
      prompts: { answer: aPrompt() },
      name: 'answer',
      messages: [],
      temperature: 0,
      isKnown: () => false,
    };
    const seen: string[] = [];
    const optimizer = (replies: string[]): LimitedOptimizer =>
      new LimitedOptimizer({
        occasion: 'test',
        left: 3,
        complete: (messages) => {
          seen.push(messages.map(({ content }) => content).join());
          return Promise.resolve(replies.shift() ?? '');
        },
      });
    const forgetful = optimizer(['<prompt>Answer.</prompt>', '<prompt></prompt>', '<prompt>Now {question}</prompt>']);
    expect((await rewritePrompt(forgetful, request))?.['answer']?.template).toBe('Now {question}');
    expect(seen[1]).toMatch(/lacks the variables question.*exactly these variables/s);
    expect(seen[2]).toMatch(/There is no prompt between <prompt> and <.prompt> in it/);
    const hopeless = optimizer(['Answer.', 'Answer {question}', 'Answer?', '<prompt>{question}</prompt>']);
    expect(await rewritePrompt(hopeless, request)).toBeNull();
  });

  test('braces of an example are doubled when they would mean nothing', () => {
    const original = aPrompt('{a} {b}');
    expect(withLiteralBraces(original, '{a} {b} {{x}}')).toBe('{a} {b} {{x}}');
    const fixed = withLiteralBraces(original, 'Reply {"a": {a}, "c": {"d": {b}}} {c}');
    expect(fixed).toBe('Reply {{"a": {a}, "c": {{"d": {b}}}}} {{c}}');
    expect(() => assertSameVariables(original, aPrompt(fixed))).not.toThrow();
    expect(formatPrompt(aPrompt(fixed), { a: 1, b: 2 })).toBe('Reply {"a": 1, "c": {"d": 2}} {c}');
  });

  test.each([
    ['Reply {{"a": {a}}} or {"b": {b}}', 'Reply {{"a": {a}}} or {{"b": {b}}}'],
    ['{{"a": {"b": {b}}}} {', '{{"a": {{"b": {b}}}}} {{'],
    ['{"a": {"b": {b}}} and {{a}}', '{{"a": {{"b": {b}}}}} and {{a}}'],
    ['{{{a}}} } {b}', '{{{a}}} }} {b}'],
  ])('braces that are doubled already are not doubled again: %s', (written, fixed) => {
    expect(withLiteralBraces(aPrompt('{a} {b}'), written)).toBe(fixed);
  });

  test('every brace means something afterwards, and nothing is left to do', () => {
    const piece = fc.constantFrom('{', '}', '{{', '}}', '{a}', '{c}', 'a', ' ', '":');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const fixed = withLiteralBraces(aPrompt('{a}'), pieces.join(''));
        expect(strayBrace(fixed)).toBeNull();
        expect(fixed.replaceAll(/[{}]/g, '')).toBe(pieces.join('').replaceAll(/[{}]/g, ''));
      }),
    );
  });
});

test.each([
  ['<prompt>\nOne\n\nTwo\n</prompt>', 'One\n\nTwo'],
  ['Here it is:\n<prompt>Use ```code```.</prompt> Bye.', 'Use ```code```.'],
  ['```text\nOne\n```', ''],
  ['Sure! Here is a better prompt: One', ''],
  ['<think>Between <prompt> and </prompt>.</think>\n<prompt>One</prompt>', 'One'],
  ['<prompt>One, and then it br', ''],
])('the prompt in a reply: %j', (reply, prompt) => {
  expect(promptOfReply(reply)).toBe(prompt);
});

test('the prompt of a long reply is found in linear time', () => {
  const lineFeeds = '\n'.repeat(1_000_000);
  expect(promptOfReply(`<prompt>${lineFeeds}One${lineFeeds}Two${lineFeeds}</prompt>`)).toBe(`One${lineFeeds}Two`);
  expect(promptOfReply('<prompt>'.repeat(1_000_000))).toBe('');
});

describe('the Pareto front', () => {
  const members = fc.array(
    fc.record({ scores: fc.array(fc.option(fc.integer({ min: 0, max: 3 })), { minLength: 5, maxLength: 5 }) }),
    { minLength: 1, maxLength: 8 },
  );

  test('has a best member for every task that has a score', () => {
    fc.assert(
      fc.property(members, (all) => {
        const front = paretoFront(all).map(({ member }) => member);
        for (let task = 0; task < 5; task += 1) {
          const scores = all.map((member) => member.scores[task] ?? Number.NEGATIVE_INFINITY);
          const best = Math.max(...scores);
          if (best === Number.NEGATIVE_INFINITY) continue;
          expect(front.some((member) => member.scores[task] === best)).toBe(true);
        }
      }),
    );
  });

  test('has no member whose best tasks are all among another’s', () => {
    const [both, left, right, nothing] = [
      [1, 1],
      [1, 0],
      [0, 2],
      [0, 0],
    ].map((scores) => ({ scores }));
    const all = [both, left, right, nothing].flatMap((member) => member ?? []);
    expect(paretoFront(all).map(({ member, tasks }) => [member.scores, tasks])).toEqual([
      [[1, 1], 1],
      [[0, 2], 1],
    ]);
  });
});

test('crossing takes from each what only it changed', () => {
  const ancestor = { a: aPrompt('a'), b: aPrompt('b'), c: aPrompt('c') };
  const one = { ...ancestor, a: aPrompt('a1'), c: aPrompt('c1') };
  const other = { ...ancestor, b: aPrompt('b2'), c: aPrompt('c2') };
  expect(mergePrompts({ ancestor, one, other })).toEqual({ a: aPrompt('a1'), b: aPrompt('b2'), c: aPrompt('c1') });
  expect(mergePrompts({ ancestor, one, other: ancestor })).toBeNull();
});
