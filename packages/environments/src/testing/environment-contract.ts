import { afterAll, describe, expect, test } from 'vitest';
import type { Environment, EnvironmentAction, EnvironmentFactory } from '../environment/environment.ts';

/** Options of {@link describeEnvironmentContract}. */
export interface EnvironmentContractOptions<TTask> {
  /** Name of the environment in the test report. */
  readonly name: string;
  /** A new factory, when the first test runs; the suite closes it. */
  readonly create: () => EnvironmentFactory<TTask>;
  readonly task: TTask;
  /** An action that changes the world of its episode: it plants the canary. */
  readonly change: EnvironmentAction;
  /** An action whose observation shows whether the world was changed. */
  readonly look: EnvironmentAction;
  /** An action that the environment refuses with an observation, such as a tool call with wrong arguments. */
  readonly invalid: EnvironmentAction;
  /**
   * Breaks a running environment, such as by killing its server. The next operation must throw.
   *
   * @default the test is skipped: nothing outside of the process can break it
   */
  readonly break?: (environment: Environment<TTask>) => Promise<void>;
}

const context = { signal: new AbortController().signal, seed: 7 };

/** The factory of a suite, which its first test creates. */
type FactoryOfSuite<TTask> = () => EnvironmentFactory<TTask>;

/**
 * The contract that every {@link EnvironmentFactory} keeps, as vitest tests. A canary shows leaks: what one episode changes,
 * no other one sees.
 *
 * @example
 * ```ts
 * describeEnvironmentContract({ name: 'corridor', create: () => corridor, task: { length: 3 }, change, look, invalid });
 * ```
 */
export function describeEnvironmentContract<TTask>(options: EnvironmentContractOptions<TTask>): void {
  describe(`the environment contract: ${options.name}`, () => {
    let created: EnvironmentFactory<TTask> | null = null;
    const factory: FactoryOfSuite<TTask> = () => {
      created ??= options.create();
      return created;
    };
    afterAll(() => created?.close());
    describeEpisodes(factory, options);
    describeLeaks(factory, options);
    describeEnds(factory, options);
  });
}

function describeEpisodes<TTask>(
  factory: FactoryOfSuite<TTask>,
  { task, change, look, invalid }: EnvironmentContractOptions<TTask>,
): void {
  test('an episode starts with an observation, and has tools with schemas', async () => {
    await using world = await started(factory, task);
    expect(world.observation).not.toBe('');
    const tools = world.environment.tools();
    expect(new Set(tools.map(({ name }) => name)).size).toBe(tools.length);
    for (const { parameters } of tools) expect(parameters).toMatchObject({ type: 'object' });
  });

  test('a task with the same seed starts in the same world', async () => {
    await using one = await started(factory, task);
    await using other = await started(factory, task);
    expect(other.observation).toBe(one.observation);
    expect(await observe(other, look)).toBe(await observe(one, look));
  });

  test('rewards are finite numbers or null, and null throughout where the environment gives none', async () => {
    await using world = await started(factory, task);
    for (const action of [change, look]) {
      const { reward } = await world.environment.step(action, context);
      if (reward !== null) expect(reward).toSatisfy(Number.isFinite);
      if (!factory().givesRewards) expect(reward).toBeNull();
    }
  });

  test('an invalid action is an observation, not a failure', async () => {
    await using world = await started(factory, task);
    expect(await observe(world, invalid)).not.toBe('');
    expect(await observe(world, look)).not.toBe('');
  });

  test('the state is JSON', async () => {
    await using world = await started(factory, task);
    const state = await world.environment.state(context);
    expect(JSON.parse(JSON.stringify(state))).toEqual(state);
  });
}

function describeLeaks<TTask>(
  factory: FactoryOfSuite<TTask>,
  { task, change, look }: EnvironmentContractOptions<TTask>,
): void {
  test('canary: the change is visible in its episode, so that the tests below can fail', async () => {
    await using world = await started(factory, task);
    const before = await observe(world, look);
    await observe(world, change);
    expect(await observe(world, look)).not.toBe(before);
  });

  test('canary: a change is not visible in a later rollout', async () => {
    const first = await started(factory, task);
    const before = await observe(first, look);
    await observe(first, change);
    await first.environment.close();
    await using later = await started(factory, task);
    expect(await observe(later, look)).toBe(before);
  });

  test('canary: a change is not visible in a concurrent rollout', async () => {
    await using one = await started(factory, task);
    await using other = await started(factory, task);
    const before = await observe(other, look);
    await observe(one, change);
    expect(await observe(other, look)).toBe(before);
  });

  test('canary: a change is not visible after another reset', async () => {
    await using world = await started(factory, task);
    const before = await observe(world, look);
    await observe(world, change);
    await world.environment.reset(task, context);
    expect(await observe(world, look)).toBe(before);
  });
}

function describeEnds<TTask>(factory: FactoryOfSuite<TTask>, options: EnvironmentContractOptions<TTask>): void {
  const { task, look } = options;
  test('closing twice has no effect, nor has closing what was never started', async () => {
    const { environment } = await started(factory, task);
    await environment.close();
    await environment.close();
    await factory().create().close();
  });

  test('an operation after closing throws', async () => {
    const { environment } = await started(factory, task);
    await environment.close();
    await expect((async () => environment.step(look, context))()).rejects.toThrow();
  });

  test('an aborted operation throws, and the environment can be closed', async () => {
    const { environment } = await started(factory, task);
    const signal = AbortSignal.abort(new Error('time limit'));
    await expect((async () => environment.step(look, { signal }))()).rejects.toThrow();
    await environment.close();
  });

  test('an aborted start throws, and leaves nothing to other rollouts', async () => {
    const environment = factory().create();
    const signal = AbortSignal.abort(new Error('time limit'));
    await expect((async () => environment.reset(task, { signal, seed: 7 }))()).rejects.toThrow();
    await environment.close();
    await using world = await started(factory, task);
    expect(world.observation).not.toBe('');
  });

  test.skipIf(options.break === undefined)('a broken environment throws, and others work', async () => {
    const { environment } = await started(factory, task);
    await options.break?.(environment);
    await expect((async () => environment.step(look, context))()).rejects.toThrow();
    await environment.close();
    await using other = await started(factory, task);
    expect(await observe(other, look)).not.toBe('');
  });

  test('the factory can be closed twice, and used again', async () => {
    await factory().close();
    await factory().close();
    await using world = await started(factory, task);
    expect(world.observation).not.toBe('');
  });
}

interface StartedWorld<TTask> extends AsyncDisposable {
  readonly environment: Environment<TTask>;
  readonly observation: string;
}

async function started<TTask>(factory: FactoryOfSuite<TTask>, task: TTask): Promise<StartedWorld<TTask>> {
  const environment = factory().create();
  const observation = await environment.reset(task, context);
  return { environment, observation, [Symbol.asyncDispose]: () => environment.close() };
}

async function observe<TTask>({ environment }: StartedWorld<TTask>, action: EnvironmentAction): Promise<string> {
  return (await environment.step(action, context)).observation;
}
