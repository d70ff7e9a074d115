import type {
  JudgedPrompts,
  PromptSearch,
  PromptSearchContext,
  PromptSearchResult,
  PromptSearchStanding,
  PromptSet,
  TriedTask,
} from '@agentlightning/core/algorithm';
import { z } from 'zod';
import type { SeededRandom } from '../base/seeded-random.ts';
import { ExamplePool, examplePoolSchema } from './example-pool.ts';
import { type GepaOptions, type GepaSettings, parseGepaOptions } from './gepa-options.ts';
import { reflectionMessages, subjectOf } from './optimizer-messages.ts';
import { paretoFront } from './pareto-front.ts';
import { corrections, rewritePrompt } from './rewrite-prompt.ts';
import { type LimitedOptimizer, SearchBudget, spentSchema } from './search-budget.ts';
import { promptSetSchema, readState, writeState } from './search-state.ts';
import { meanReward, meanScore, randomForPosition, sampleTasks, sampleWeighted, transcriptsText } from './trials.ts';

/** Two versions and their common ancestor. */
export interface PromptMerge {
  readonly ancestor: PromptSet;
  readonly one: PromptSet;
  readonly other: PromptSet;
}

/**
 * Merges the changes of two versions since their common ancestor. For a prompt that both changed, the first version takes
 * precedence.
 *
 * @returns null when the changes of one version are a subset of the other's
 */
export function mergePrompts({ ancestor, one, other }: PromptMerge): PromptSet | null {
  const names = Object.keys(ancestor);
  const changedBy = (version: PromptSet): readonly string[] =>
    names.filter((name) => version[name]?.template !== ancestor[name]?.template);
  const byOne = changedBy(one);
  const onlyByOther = changedBy(other).filter((name) => !byOne.includes(name));
  const onlyByOne = byOne.filter((name) => !changedBy(other).includes(name));
  if (onlyByOne.length === 0 || onlyByOther.length === 0) return null;
  const taken = onlyByOther.flatMap((name) => {
    const prompt = other[name];
    return prompt === undefined ? [] : [[name, prompt] as const];
  });
  return { ...one, ...Object.fromEntries(taken) };
}

/**
 * Reflective prompt evolution: a model reads transcripts of a few tasks and proposes a better prompt. A version that scores
 * higher than its parent on the same tasks is evaluated on all validation tasks and added to the pool. Parents are drawn
 * from the Pareto front over tasks, which preserves versions that are best at rare tasks; versions that are best at
 * different tasks are merged.
 *
 * GEPA: Agrawal et al., arXiv 2507.19457, algorithms 1 to 4. Proposals are created and evaluated concurrently.
 *
 * @throws AgentLightningError with code `CONFIG` when an option is wrong
 *
 * @example
 * ```ts
 * const { best } = await gepa({ maxRollouts: 300 }).run(context);
 * ```
 */
export function gepa(options: GepaOptions = {}): PromptSearch {
  const settings = parseGepaOptions(options);
  return {
    kind: 'prompt-search',
    name: 'gepa',
    budget: settings,
    run: async (context) => await new Gepa(context, settings).run(),
  };
}

/** A member of the pool, with its reward on each validation task. */
interface Member {
  readonly version: string;
  readonly prompts: PromptSet;
  readonly parents: readonly string[];
  readonly scores: readonly (number | null)[];
}

const stateSchema = z.object({
  search: z.literal('gepa'),
  iteration: z.int(),
  used: spentSchema,
  pool: z.array(
    z.object({
      version: z.string(),
      prompts: promptSetSchema,
      parents: z.array(z.string()),
      scores: z.array(z.number().nullable()),
    }),
  ),
  /** Pairs of versions for which a merge was attempted. */
  crossed: z.array(z.string()),
  examples: examplePoolSchema,
});

class Gepa {
  readonly #context: PromptSearchContext;
  readonly #settings: GepaSettings;
  readonly #budget: SearchBudget;
  readonly #examples: ExamplePool;
  readonly #pool: Member[] = [];
  readonly #crossed: Set<string>;
  #iteration = 0;

  constructor(context: PromptSearchContext, settings: GepaSettings) {
    this.#context = context;
    this.#settings = settings;
    const saved = context.saved === null ? null : readState(stateSchema, context.saved, 'gepa');
    this.#pool.push(...(saved?.pool ?? []));
    this.#iteration = saved?.iteration ?? 0;
    this.#crossed = new Set(saved?.crossed);
    this.#examples = new ExamplePool(context, saved?.examples ?? null);
    this.#budget = new SearchBudget(context, settings, { used: saved?.used ?? null, examples: this.#examples });
  }

  async run(): Promise<PromptSearchResult> {
    if (this.#pool.length === 0) {
      this.#budget.assertAllowsBaseline(this.#context.validationTasks);
      await this.#join({ prompts: this.#context.initial, parents: [], occasion: 'begin' });
      await this.#save();
    }
    while (!this.#isDone()) {
      const proposals = this.#affordableProposals();
      if (proposals === 0) break;
      const crossing = this.#settings.merges ? this.#nextCrossing() : null;
      if (crossing === null) await this.#reflect(proposals);
      else await this.#join({ ...crossing, occasion: `iteration-${this.#iteration + 1}/crossing` });
      // Proposals may be incomplete: a resumed search repeats the iteration.
      if (this.#budget.isStopped) break;
      this.#iteration += 1;
      await this.#save();
    }
    const ended = this.#isDone() ? 'finished' : this.#budget.end;
    return { ...this.#standing(), ended };
  }

  #isDone(): boolean {
    return (this.#standing().best.score ?? -Infinity) >= this.#settings.stopAtScore;
  }

  async #reflect(proposals: number): Promise<void> {
    const front = paretoFront(this.#pool);
    const places = Array.from({ length: proposals }, (_, proposal) => proposal);
    const occasions = places.map((proposal) => `iteration-${this.#iteration + 1}/proposal-${proposal + 1}`);
    const isRewritten = (proposal: number): boolean => !this.#examples.isExamples(this.#nameOf(proposal));
    const optimizers = this.#budget.optimizersFor(occasions, 1 + corrections, isRewritten);
    const made = await Promise.all(
      occasions.map(async (occasion, proposal) => {
        const random = randomForPosition(this.#context.seed, this.#iteration, proposal);
        const parent = sampleWeighted(random, front, ({ tasks }) => tasks)?.member ?? null;
        const name = this.#nameOf(proposal);
        const optimizer = optimizers[proposal];
        if (parent === null || optimizer === undefined) return null;
        const tasks = this.#comparedTasks(random, { name, prompts: parent.prompts });
        const { prompts, tried } = await this.#improved(parent.prompts, { name, occasion, tasks, optimizer, random });
        return { child: prompts === null ? null : { prompts, parents: [parent.version], occasion }, tried };
      }),
    );
    // In the order of the proposals, which run concurrently.
    for (const one of made) this.#examples.add(one?.tried ?? []);
    for (const one of made) if (one?.child != null) await this.#join(one.child);
  }

  /** The prompts are changed in turn. */
  #nameOf(proposal: number): string {
    const names = Object.keys(this.#context.initial);
    return names[(this.#iteration * this.#settings.proposals + proposal) % names.length] ?? '';
  }

  /** Training tasks of which the parent has no example. For new examples, at most half of all: the others are drawn from. */
  #comparedTasks(
    random: SeededRandom,
    { name, prompts }: { readonly name: string; readonly prompts: PromptSet },
  ): readonly number[] {
    const { trainTasks } = this.#context;
    const { reflectionTasks } = this.#settings;
    const most = this.#examples.isExamples(name) ? Math.max(1, Math.floor(trainTasks / 2)) : reflectionTasks;
    return sampleTasks(random, Math.min(reflectionTasks, most), {
      from: trainTasks,
      avoided: this.#examples.tasksIn(prompts),
    });
  }

  /** The changed prompts; null unless they score higher than their parent on the same tasks. */
  async #improved(prompts: PromptSet, proposal: Proposal): Promise<Improvement> {
    const { name, occasion, tasks, random } = proposal;
    const isKnown = (version: PromptSet): boolean => this.#isKnown(version);
    const isExamples = this.#examples.isExamples(name);
    // Before the rollouts, so that it does not depend on the order in which they end.
    const drawn = isExamples ? this.#examples.draw({ prompts, name, random, excluded: tasks, isKnown }) : null;
    const trial = { split: 'train', tasks } as const;
    const before = await this.#budget.try({ ...trial, prompts, occasion: `${occasion}/before` });
    const changed = isExamples ? drawn : await this.#rewritten(prompts, { proposal, before, isKnown });
    if (changed === null || this.#budget.isStopped) return { prompts: null, tried: before };
    const after = await this.#budget.try({ ...trial, prompts: changed, occasion: `${occasion}/after` });
    const isBetter = (meanReward(after) ?? -Infinity) > (meanReward(before) ?? -Infinity);
    return { prompts: isBetter ? changed : null, tried: [...before, ...after] };
  }

  async #rewritten(
    prompts: PromptSet,
    {
      proposal: { name, optimizer },
      before,
      isKnown,
    }: {
      readonly proposal: Proposal;
      readonly before: readonly TriedTask[];
      readonly isKnown: (version: PromptSet) => boolean;
    },
  ): Promise<PromptSet | null> {
    const messages = reflectionMessages(subjectOf(this.#context, name, prompts), transcriptsText(before));
    const { temperature } = this.#settings;
    return await rewritePrompt(optimizer, { prompts, name, messages, temperature, isKnown });
  }

  /** Merges two members of the front that have a common ancestor and changed different prompts since. */
  #nextCrossing(): Omit<Candidate, 'occasion'> | null {
    const front = paretoFront(this.#pool).map(({ member }) => member);
    for (const [index, one] of front.entries()) {
      for (const other of front.slice(index + 1)) {
        const key = `${one.version}+${other.version}`;
        if (this.#crossed.has(key)) continue;
        this.#crossed.add(key);
        const ancestor = this.#commonAncestor(one, other);
        const prompts =
          ancestor === null
            ? null
            : mergePrompts({ ancestor: ancestor.prompts, one: one.prompts, other: other.prompts });
        if (prompts === null || this.#isKnown(prompts)) continue;
        const floor = Math.max(meanScore(one.scores) ?? -Infinity, meanScore(other.scores) ?? -Infinity);
        return { prompts, parents: [one.version, other.version], floor };
      }
    }
    return null;
  }

  /** Evaluates a version on all validation tasks and adds it to the pool when its score is at least its floor. */
  async #join({ prompts, parents, occasion, floor = -Infinity }: Candidate): Promise<void> {
    if (this.#isKnown(prompts)) return;
    const tasks = Array.from({ length: this.#context.validationTasks }, (_, task) => task);
    const trial = { prompts, split: 'validation', tasks, occasion: `${occasion}/join` } as const;
    const scores = (await this.#budget.try(trial)).map(({ reward }) => reward);
    if ((meanScore(scores) ?? -Infinity) < floor) return;
    const member = { version: `v${this.#pool.length}`, prompts, parents, scores };
    this.#pool.push(member);
    this.#context.onCandidate?.(this.#judged(member));
  }

  #commonAncestor(one: Member, other: Member): Member | null {
    const ofOne = this.#ancestors(one);
    return this.#ancestors(other).find((member) => ofOne.includes(member)) ?? null;
  }

  /** Ancestors, the nearest first. */
  #ancestors(member: Member): readonly Member[] {
    const found: Member[] = [];
    const open = [...member.parents];
    for (let version = open.shift(); version !== undefined; version = open.shift()) {
      const parent = this.#pool.find((candidate) => candidate.version === version);
      if (parent === undefined || found.includes(parent)) continue;
      found.push(parent);
      open.push(...parent.parents);
    }
    return found;
  }

  #isKnown(prompts: PromptSet): boolean {
    return this.#pool.some((member) =>
      Object.entries(prompts).every(([name, prompt]) => member.prompts[name]?.template === prompt.template),
    );
  }

  /** The number of proposals in the next iteration: the last ones have fewer, so that the budget is used up. */
  #affordableProposals(): number {
    const { proposals: most, reflectionTasks } = this.#settings;
    const { trainTasks, validationTasks } = this.#context;
    const each = 2 * Math.min(reflectionTasks, trainTasks) + validationTasks;
    // One request is the minimum for a rewritten version; corrections use the remaining budget.
    return this.#budget.affordableBranches(most, (proposals) => ({
      rollouts: proposals * each,
      optimizerCalls: Array.from({ length: proposals }, (_, proposal) => this.#nameOf(proposal)).filter(
        (name) => !this.#examples.isExamples(name),
      ).length,
    }));
  }

  #standing(): PromptSearchStanding {
    const history = this.#pool.map((member) => this.#judged(member));
    const best = history.reduce((one, other) => ((other.score ?? -Infinity) > (one.score ?? -Infinity) ? other : one));
    return { best, history, ...this.#budget.used, exampleTasks: this.#examples.tasks };
  }

  #judged({ version, prompts, parents, scores }: Member): JudgedPrompts {
    const scoredTasks = scores.filter((score) => score !== null).length;
    const judged = { version, prompts, parents, score: meanScore(scores), scoredTasks, taskScores: scores };
    return { ...judged, ...this.#examples.chosenIn(prompts) };
  }

  async #save(): Promise<void> {
    const state = {
      search: 'gepa',
      iteration: this.#iteration,
      used: this.#budget.used,
      pool: this.#pool,
      crossed: [...this.#crossed],
      examples: this.#examples.state(this.#pool),
    };
    await this.#context.save(writeState(state), this.#standing());
  }
}

/** A set of prompts to evaluate for the pool. */
interface Candidate extends Pick<Member, 'prompts' | 'parents'> {
  readonly occasion: string;
  /** Minimum score; for a merged version the score of its parents. @default none */
  readonly floor?: number;
}

/** Inputs of a new version. */
interface Proposal {
  /** The prompt to change. */
  readonly name: string;
  readonly occasion: string;
  /** The training tasks on which it is compared with its parent. */
  readonly tasks: readonly number[];
  readonly optimizer: LimitedOptimizer;
  readonly random: SeededRandom;
}

/** A better version, if there is one, and all rollouts on training tasks. */
interface Improvement {
  readonly prompts: PromptSet | null;
  readonly tried: readonly TriedTask[];
}
