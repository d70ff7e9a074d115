import { z } from 'zod';
import { accountsText } from './accounts.ts';
import { crossPrompts } from './cross-prompts.ts';
import { drawFor, drawTasks, drawWeighted } from './draw.ts';
import { type GepaOptions, parseGepaOptions } from './gepa-options.ts';
import { meanReward } from './mean-reward.ts';
import { replyFormat } from './optimizer-replies.ts';
import { paretoFront } from './pareto-front.ts';
import type {
  JudgedPrompts,
  OptimizerMessage,
  PromptSearch,
  PromptSearchContext,
  PromptSearchResult,
  PromptSet,
} from './prompt-search.ts';
import { rewritePrompt } from './rewrite-prompt.ts';
import { RolloutBudget } from './rollout-budget.ts';
import { promptSetSchema, readState, writeState } from './search-state.ts';

/**
 * Reflective prompt evolution: a model reads what the agent did on a few tasks and proposes a better prompt; what beats
 * its parent on the same tasks is tried on all validation tasks and joins the pool. Parents are drawn from the Pareto
 * front over tasks, so that what is good at something rare is not lost; versions that are good at different things are
 * crossed.
 *
 * GEPA: Agrawal et al., arXiv 2507.19457, algorithms 1 to 4. Several proposals are made and tried at the same time.
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
  return { name: 'gepa', run: async (context) => await new Gepa(context, settings).run() };
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
  rollouts: z.int(),
  pool: z.array(
    z.object({
      version: z.string(),
      prompts: promptSetSchema,
      parents: z.array(z.string()),
      scores: z.array(z.number().nullable()),
    }),
  ),
  /** Pairs that were crossed, or could not be. */
  crossed: z.array(z.string()),
});

class Gepa {
  readonly #context: PromptSearchContext;
  readonly #settings: Required<GepaOptions>;
  readonly #budget: RolloutBudget;
  readonly #pool: Member[] = [];
  readonly #crossed: Set<string>;
  #iteration = 0;

  constructor(context: PromptSearchContext, settings: Required<GepaOptions>) {
    this.#context = context;
    this.#settings = settings;
    const saved = context.saved === null ? null : readState(stateSchema, context.saved, 'gepa');
    this.#pool.push(...(saved?.pool ?? []));
    this.#iteration = saved?.iteration ?? 0;
    this.#crossed = new Set(saved?.crossed);
    this.#budget = new RolloutBudget(context, settings.maxRollouts, saved?.rollouts ?? 0);
  }

  async run(): Promise<PromptSearchResult> {
    if (this.#pool.length === 0) {
      await this.#join({ prompts: this.#context.initial, parents: [] });
      await this.#save();
    }
    while (this.#budget.hasRoomFor(this.#costOfIteration())) {
      const crossing = this.#settings.merges ? this.#nextCrossing() : null;
      if (crossing === null) await this.#reflect();
      else await this.#join(crossing, crossing.floor);
      this.#iteration += 1;
      await this.#save();
    }
    const history = this.#pool.map(judged);
    const best = history.reduce((one, other) => ((other.score ?? -Infinity) > (one.score ?? -Infinity) ? other : one));
    return { best, history, rollouts: this.#budget.used, ended: this.#budget.isStopped ? 'stopped' : 'budget' };
  }

  async #reflect(): Promise<void> {
    const front = paretoFront(this.#pool);
    const names = Object.keys(this.#context.initial);
    const proposals = Array.from({ length: this.#settings.proposals }, (_, proposal) => proposal);
    const accepted = await Promise.all(
      proposals.map(async (proposal) => {
        const random = drawFor(this.#context.seed, this.#iteration, proposal);
        const parent = drawWeighted(random, front, ({ tasks }) => tasks)?.member ?? null;
        const name = names[(this.#iteration * proposals.length + proposal) % names.length];
        if (parent === null || name === undefined) return null;
        const tasks = drawTasks(random, this.#settings.reflectionTasks, this.#context.trainTasks);
        const prompts = await this.#improved(parent.prompts, name, tasks);
        return prompts === null ? null : { prompts, parents: [parent.version] };
      }),
    );
    for (const child of accepted) if (child !== null) await this.#join(child);
  }

  /** A rewritten prompt that did better than its parent on the tasks it was made of; null when it did not. */
  async #improved(prompts: PromptSet, name: string, tasks: readonly number[]): Promise<PromptSet | null> {
    const before = await this.#budget.try(prompts, 'train', tasks);
    const messages = reflectionMessages(name, prompts[name]?.template ?? '', accountsText(before));
    const { temperature } = this.#settings;
    const rewritten = await rewritePrompt(this.#context, { prompts, name, messages, temperature });
    if (rewritten === null || this.#budget.isStopped) return null;
    const after = await this.#budget.try(rewritten, 'train', tasks);
    return (meanReward(after) ?? -Infinity) > (meanReward(before) ?? -Infinity) ? rewritten : null;
  }

  /** Two of the front that come from the same version and changed different prompts since. */
  #nextCrossing(): (Pick<Member, 'prompts' | 'parents'> & { readonly floor: number }) | null {
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
            : crossPrompts({ ancestor: ancestor.prompts, one: one.prompts, other: other.prompts });
        if (prompts === null || this.#isKnown(prompts)) continue;
        const floor = Math.max(judged(one).score ?? -Infinity, judged(other).score ?? -Infinity);
        return { prompts, parents: [one.version, other.version], floor };
      }
    }
    return null;
  }

  /** Tries a version on all validation tasks; it stays when it is no worse than the floor, as that of what it was crossed of. */
  async #join({ prompts, parents }: Pick<Member, 'prompts' | 'parents'>, floor: number = -Infinity): Promise<void> {
    if (this.#isKnown(prompts)) return;
    const tasks = Array.from({ length: this.#context.validationTasks }, (_, task) => task);
    const tried = await this.#budget.try(prompts, 'validation', tasks);
    const version = `v${this.#pool.length}`;
    const member = { version, prompts, parents, scores: tried.map(({ reward }) => reward) };
    if ((judged(member).score ?? -Infinity) < floor) return;
    this.#pool.push(member);
    this.#context.onCandidate?.(judged(member));
  }

  #commonAncestor(one: Member, other: Member): Member | null {
    const ofOne = this.#ancestors(one);
    return this.#ancestors(other).find((member) => ofOne.includes(member)) ?? null;
  }

  /** The nearest ones first. */
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

  #costOfIteration(): number {
    const { proposals, reflectionTasks } = this.#settings;
    const { trainTasks, validationTasks } = this.#context;
    return proposals * (2 * Math.min(reflectionTasks, trainTasks) + validationTasks);
  }

  async #save(): Promise<void> {
    await this.#context.save(
      writeState({
        search: 'gepa',
        iteration: this.#iteration,
        rollouts: this.#budget.used,
        pool: this.#pool,
        crossed: [...this.#crossed],
      }),
    );
  }
}

function judged({ version, prompts, parents, scores }: Member): JudgedPrompts {
  const known = scores.filter((score) => score !== null);
  const score = known.length === 0 ? null : known.reduce((sum, each) => sum + each, 0) / known.length;
  return { version, prompts, parents, score, scoredTasks: known.length };
}

function reflectionMessages(name: string, prompt: string, accounts: string): readonly OptimizerMessage[] {
  return [
    {
      role: 'system',
      content:
        'You improve the prompts of AI agents. You read what an agent did, learn from it, and write that into its prompt.',
    },
    {
      role: 'user',
      content: `The prompt "${name}":\n\n${prompt}\n\nWhat the agent did with it, and how it was judged:\n\n${accounts}\n\nFind out what the tasks ask for, what went wrong and what worked. Write a new prompt that has what is needed to do such tasks well: facts about the domain, rules, a way to go about it.\n${replyFormat}`,
    },
  ];
}
