import type {
  JudgedPrompts,
  OptimizerMessage,
  PromptSearch,
  PromptSearchContext,
  PromptSearchResult,
  PromptSearchStanding,
  PromptSet,
} from '@agentlightning/core/algorithm';
import { z } from 'zod';
import { type GepaOptions, type GepaSettings, parseGepaOptions } from './gepa-options.ts';
import { replyFormat } from './optimizer-replies.ts';
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
});

class Gepa {
  readonly #context: PromptSearchContext;
  readonly #settings: GepaSettings;
  readonly #budget: SearchBudget;
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
    this.#budget = new SearchBudget(context, settings, saved?.used ?? null);
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
    const names = Object.keys(this.#context.initial);
    const places = Array.from({ length: proposals }, (_, proposal) => proposal);
    const occasions = places.map((proposal) => `iteration-${this.#iteration + 1}/proposal-${proposal + 1}`);
    const optimizers = this.#budget.optimizersFor(occasions, 1 + corrections);
    const accepted = await Promise.all(
      occasions.map(async (occasion, proposal) => {
        const random = randomForPosition(this.#context.seed, this.#iteration, proposal);
        const parent = sampleWeighted(random, front, ({ tasks }) => tasks)?.member ?? null;
        const name = names[(this.#iteration * this.#settings.proposals + proposal) % names.length];
        const optimizer = optimizers[proposal];
        if (parent === null || name === undefined || optimizer === undefined) return null;
        const tasks = sampleTasks(random, this.#settings.reflectionTasks, this.#context.trainTasks);
        const prompts = await this.#improved(parent.prompts, { name, occasion, tasks, optimizer });
        return prompts === null ? null : { prompts, parents: [parent.version], occasion };
      }),
    );
    for (const child of accepted) if (child !== null) await this.#join(child);
  }

  /** The rewritten prompts; null unless they score higher than their parent on the same tasks. */
  async #improved(prompts: PromptSet, { name, occasion, tasks, optimizer }: Proposal): Promise<PromptSet | null> {
    const tried = { split: 'train', tasks } as const;
    const before = await this.#budget.try({ ...tried, prompts, occasion: `${occasion}/before` });
    const messages = reflectionMessages(name, prompts[name]?.template ?? '', transcriptsText(before));
    const { temperature } = this.#settings;
    const isKnown = (version: PromptSet): boolean => this.#isKnown(version);
    const rewritten = await rewritePrompt(optimizer, { prompts, name, messages, temperature, isKnown });
    if (rewritten === null || this.#budget.isStopped) return null;
    const after = await this.#budget.try({ ...tried, prompts: rewritten, occasion: `${occasion}/after` });
    return (meanReward(after) ?? -Infinity) > (meanReward(before) ?? -Infinity) ? rewritten : null;
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
    this.#context.onCandidate?.(judged(member));
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
    // One request is the minimum for a new version; corrections use the remaining budget.
    return this.#budget.affordableBranches(most, (proposals) => ({
      rollouts: proposals * each,
      optimizerCalls: proposals,
    }));
  }

  #standing(): PromptSearchStanding {
    const history = this.#pool.map(judged);
    const best = history.reduce((one, other) => ((other.score ?? -Infinity) > (one.score ?? -Infinity) ? other : one));
    return { best, history, ...this.#budget.used };
  }

  async #save(): Promise<void> {
    const state = {
      search: 'gepa',
      iteration: this.#iteration,
      used: this.#budget.used,
      pool: this.#pool,
      crossed: [...this.#crossed],
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
  /** The prompt to rewrite. */
  readonly name: string;
  readonly occasion: string;
  /** The training tasks on which it is compared with its parent. */
  readonly tasks: readonly number[];
  readonly optimizer: LimitedOptimizer;
}

function judged({ version, prompts, parents, scores }: Member): JudgedPrompts {
  const scoredTasks = scores.filter((score) => score !== null).length;
  return { version, prompts, parents, score: meanScore(scores), scoredTasks, taskScores: scores };
}

function reflectionMessages(name: string, prompt: string, transcripts: string): readonly OptimizerMessage[] {
  return [
    {
      role: 'system',
      content:
        'You improve the prompts of AI agents. You read what an agent did, learn from it, and write that into its prompt.',
    },
    {
      role: 'user',
      content: `The prompt "${name}":\n\n${prompt}\n\nWhat the agent did with it, and how it was judged:\n\n${transcripts}\n\nFind out what the tasks ask for, what went wrong and what worked. Write a new prompt that has what is needed to do such tasks well: facts about the domain, rules, a way to go about it.\n${replyFormat}`,
    },
  ];
}
