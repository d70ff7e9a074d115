import type {
  ChosenExample,
  JudgedPrompts,
  PromptSearchContext,
  PromptSet,
  SearchedPrompt,
  TriedTask,
} from '@agentlightning/core/algorithm';
import { escapeBraces } from '@agentlightning/core/internal';
import { z } from 'zod';
import { type SeededRandom, shuffled } from '../base/seeded-random.ts';
import { sampleWeighted } from './trials.ts';

/** A training rollout as an example. */
interface Example extends ChosenExample {
  readonly text: string;
}

/** The examples of a search so far. */
export interface ExamplePoolState {
  /** The lowest reward of a training rollout; null before the first. */
  readonly lowest: number | null;
  /** The best rollout of each task, by prompt. */
  readonly found: Readonly<Record<string, readonly Example[]>>;
  /** The examples of each drawn template. */
  readonly drawn: readonly DrawnExamples[];
  /** Number of draws without a new version since the last one, and since the last better rollout. */
  readonly fruitless: number;
}

interface DrawnExamples {
  readonly name: string;
  readonly template: string;
  readonly examples: readonly Example[];
}

const examplesSchema = z.array(
  z.object({ task: z.int(), reward: z.number(), text: z.string(), rolloutId: z.string().nullable() }),
);

/** Validates the examples in a saved search. */
export const examplePoolSchema: z.ZodType<ExamplePoolState> = z
  .object({
    lowest: z.number().nullable(),
    found: z.record(z.string(), examplesSchema),
    drawn: z.array(z.object({ name: z.string(), template: z.string(), examples: examplesSchema })),
    fruitless: z.int(),
  })
  // Absent in older states.
  .default({ lowest: null, found: {}, drawn: [], fruitless: 0 });

/** Maximum number of tasks in the pool of a prompt. */
const maxFound = 64;

/** The number of successive draws without a new version at which no further ones are expected. */
const maxFruitless = 12;

/** Number of draws for one version: a small pool often returns known examples. */
const tries = 4;

/** The version from which a draw starts, and what it may contain. */
export interface ExampleDraw {
  readonly prompts: PromptSet;
  /** Name of the prompt of kind `examples`. */
  readonly name: string;
  readonly random: SeededRandom;
  /** Tasks of which no example is drawn or kept. */
  readonly excluded: readonly number[];
  /** Whether a version of the search has these prompts. */
  readonly isKnown: (prompts: PromptSet) => boolean;
}

/** Good training rollouts, of which the prompts of kind `examples` are made. */
export class ExamplePool {
  readonly #searched: Readonly<Record<string, SearchedPrompt>>;
  #lowest: number | null;
  #found: Readonly<Record<string, readonly Example[]>>;
  #drawn: readonly DrawnExamples[];
  #fruitless: number;

  /** @param saved - null for a new search */
  constructor({ searched = {} }: Pick<PromptSearchContext, 'searched'>, saved: ExamplePoolState | null) {
    this.#searched = searched;
    this.#lowest = saved?.lowest ?? null;
    this.#found = saved?.found ?? {};
    this.#drawn = saved?.drawn ?? [];
    this.#fruitless = saved?.fruitless ?? 0;
  }

  /** Whether a prompt consists of examples, for which no optimiser model is needed. */
  isExamples(name: string): boolean {
    return this.#searched[name]?.kind === 'examples';
  }

  /** Whether too many successive draws had no new version. */
  get isExhausted(): boolean {
    return this.#fruitless >= maxFruitless;
  }

  /** The prompts that consist of examples. */
  get #names(): readonly string[] {
    return Object.keys(this.#searched).filter((name) => this.isExamples(name));
  }

  /** Adds training rollouts. The order matters: the first of two equally good rollouts of a task is kept. */
  add(tried: readonly TriedTask[]): void {
    const before = this.#goodText();
    this.#lowest = lowestReward(this.#lowest, tried);
    this.#found = Object.fromEntries(
      this.#names.map((name) => [name, bestByTask(this.#found[name] ?? [], tried, name)]),
    );
    // A new rollout may give a new version.
    if (this.#goodText() !== before) this.#fruitless = 0;
  }

  /** The rollouts of which examples can be drawn, except the worst. */
  #good(name: string): readonly Example[] {
    return (this.#found[name] ?? []).filter(({ reward }) => reward > (this.#lowest ?? Number.POSITIVE_INFINITY));
  }

  #goodText(): string {
    return JSON.stringify(Object.keys(this.#found).map((name) => this.#good(name)));
  }

  /** Number of tasks of which examples can be drawn, by prompt; see `PromptSearchStanding.exampleTasks`. */
  get tasks(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#names.map((name) => [name, this.#good(name).length]));
  }

  /** The rollouts of the examples in these prompts; nothing without any. */
  chosenIn(prompts: PromptSet): Pick<JudgedPrompts, 'examples'> {
    const chosen = Object.keys(prompts).flatMap((name) => {
      const examples = this.#examplesOf(prompts, name).map(({ task, reward, rolloutId }) => ({
        task,
        reward,
        rolloutId,
      }));
      return examples.length === 0 ? [] : [[name, examples] as const];
    });
    return chosen.length === 0 ? {} : { examples: Object.fromEntries(chosen) };
  }

  /** The tasks whose rollouts are examples in these prompts. */
  tasksIn(prompts: PromptSet): ReadonlySet<number> {
    return new Set(Object.keys(prompts).flatMap((name) => this.#examplesOf(prompts, name).map(({ task }) => task)));
  }

  /**
   * Draws a new version of one prompt: some examples of the version itself, and others from the pool. Rollouts are drawn with a
   * probability proportional to the difference between their reward and the lowest one, so that the worst are never drawn.
   *
   * @returns null when no good rollout is known, or only known versions were drawn
   */
  draw(draw: ExampleDraw): PromptSet | null {
    const drawn = this.#drawNew(draw);
    this.#fruitless = drawn === null ? this.#fruitless + 1 : 0;
    return drawn;
  }

  #drawNew({ prompts, name, random, excluded, isKnown }: ExampleDraw): PromptSet | null {
    const original = prompts[name];
    const searched = this.#searched[name];
    if (original === undefined || searched?.kind !== 'examples') return null;
    const lowest = this.#lowest ?? 0;
    const good = this.#good(name).filter(({ task }) => !excluded.includes(task));
    const parent = this.#examplesOf(prompts, name).filter(({ task }) => !excluded.includes(task));
    for (let attempt = 0; attempt < tries; attempt += 1) {
      const kept = shuffled(parent, random).slice(
        0,
        Math.floor(random() * Math.min(parent.length + 1, searched.count)),
      );
      const examples = filledUp(kept, good, { count: searched.count, lowest, random });
      if (examples.length === 0) return null;
      const template = examples.map(({ text }) => escapeBraces(text)).join('\n\n');
      const proposed = { ...prompts, [name]: { ...original, template } };
      if (isKnown(proposed)) continue;
      this.#drawn = [
        ...this.#drawn.filter((one) => one.name !== name || one.template !== template),
        { name, template, examples },
      ];
      return proposed;
    }
    return null;
  }

  #examplesOf(prompts: PromptSet, name: string): readonly Example[] {
    const template = prompts[name]?.template;
    return this.#drawn.find((drawn) => drawn.name === name && drawn.template === template)?.examples ?? [];
  }

  /** The state to save, without draws that no version has. */
  state(versions: readonly { readonly prompts: PromptSet }[]): ExamplePoolState {
    const isUsed = ({ name, template }: DrawnExamples): boolean =>
      versions.some(({ prompts }) => prompts[name]?.template === template);
    // In the order of the versions: concurrent branches draw in any order.
    this.#drawn = this.#drawn.filter(isUsed).toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
    return { lowest: this.#lowest, found: this.#found, drawn: this.#drawn, fruitless: this.#fruitless };
  }
}

function keyOf({ name, template }: DrawnExamples): string {
  return JSON.stringify([name, template]);
}

function lowestReward(lowest: number | null, tried: readonly TriedTask[]): number | null {
  return tried.reduce<number | null>(
    (least, { reward }) => (reward === null ? least : Math.min(least ?? reward, reward)),
    lowest,
  );
}

/** The best rollout of each task, in descending order of reward. */
function bestByTask(known: readonly Example[], tried: readonly TriedTask[], name: string): readonly Example[] {
  const byTask = new Map(known.map((example) => [example.task, example]));
  for (const { task, reward, rolloutId = null, examples = {} } of tried) {
    const text = examples[name];
    if (reward === null || text === undefined || text === '') continue;
    if (reward > (byTask.get(task)?.reward ?? Number.NEGATIVE_INFINITY))
      byTask.set(task, { task, reward, text, rolloutId });
  }
  return [...byTask.values()].toSorted((one, other) => other.reward - one.reward).slice(0, maxFound);
}

/** Adds weighted draws of other tasks until there are `count` examples. */
function filledUp(
  kept: readonly Example[],
  good: readonly Example[],
  { count, lowest, random }: { readonly count: number; readonly lowest: number; readonly random: SeededRandom },
): readonly Example[] {
  const examples = [...kept];
  let left = good.filter(({ task }) => !kept.some((one) => one.task === task));
  while (examples.length < count) {
    const next = sampleWeighted(random, left, ({ reward }) => reward - lowest);
    if (next === null) break;
    examples.push(next);
    left = left.filter((one) => one !== next);
  }
  return examples;
}
