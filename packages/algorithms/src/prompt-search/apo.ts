import type {
  JudgedPrompts,
  PromptSearch,
  PromptSearchContext,
  PromptSearchResult,
  PromptSearchStanding,
  PromptSet,
  TriedTask,
} from '@agentlightning/core/algorithm';
import { judgedPromptsSchema } from '@agentlightning/core/protocol';
import { z } from 'zod';
import { type ApoOptions, type ApoSettings, parseApoOptions } from './apo-options.ts';
import { ExamplePool, examplePoolSchema } from './example-pool.ts';
import { criticismMessages, rewriteMessages, subjectOf } from './optimizer-messages.ts';
import { corrections, rewritePrompt } from './rewrite-prompt.ts';
import { type LimitedOptimizer, SearchBudget, spentSchema } from './search-budget.ts';
import { readState, writeState } from './search-state.ts';
import { meanScore, randomForPosition, sampleTasks, transcriptsText } from './trials.ts';

/**
 * Automatic prompt optimisation: the agent runs on a few tasks, a model criticises the prompt (a "textual gradient") and
 * rewrites it, and the best versions enter the next round (beam search).
 *
 * ProTeGi: Pryzant et al., arXiv 2305.03495, and APO of Agent Lightning. In addition, the versions of a round are created
 * and evaluated concurrently, the prompts of a set are rewritten in turn, template variables are preserved, tasks without a
 * score are excluded instead of counting as 0, and an interrupted search resumes from its last round.
 *
 * @throws AgentLightningError with code `CONFIG` when an option is wrong
 *
 * @example
 * ```ts
 * const { best } = await apo({ rounds: 2, beamWidth: 2, branchFactor: 2 }).run(context);
 * ```
 */
export function apo(options: ApoOptions = {}): PromptSearch {
  const settings = parseApoOptions(options);
  return {
    kind: 'prompt-search',
    name: 'apo',
    budget: settings,
    run: async (context) => await new Apo(context, settings).run(),
  };
}

type State = z.infer<typeof stateSchema>;

const stateSchema = z.object({
  search: z.literal('apo'),
  round: z.int(),
  used: spentSchema,
  beam: z.array(judgedPromptsSchema),
  best: judgedPromptsSchema,
  history: z.array(judgedPromptsSchema),
  examples: examplePoolSchema,
});

/** Maximum number of requests per version: criticism, rewriting, corrections. */
const requestsPerVersion = 2 + corrections;

class Apo {
  readonly #context: PromptSearchContext;
  readonly #settings: ApoSettings;
  readonly #budget: SearchBudget;
  readonly #examples: ExamplePool;
  #state: State | null;

  constructor(context: PromptSearchContext, settings: ApoSettings) {
    this.#context = context;
    this.#settings = settings;
    this.#state = context.saved === null ? null : readState(stateSchema, context.saved, 'apo');
    this.#examples = new ExamplePool(context, this.#state?.examples ?? null);
    this.#budget = new SearchBudget(context, settings, { used: this.#state?.used ?? null, examples: this.#examples });
  }

  async run(): Promise<PromptSearchResult> {
    let state = this.#state ?? (await this.#begin());
    while (!this.#isDone(state)) {
      const branches = this.#affordableBranches(state);
      if (branches === 0) break;
      state = await this.#round(state, branches);
      await this.#save(state);
    }
    const ended = this.#isDone(state) ? 'finished' : this.#budget.end;
    return { ...this.#standing(state), ended };
  }

  #isDone({ round, best }: State): boolean {
    return round >= this.#settings.rounds || (best.score ?? -Infinity) >= this.#settings.stopAtScore;
  }

  async #save(state: State): Promise<void> {
    await this.#context.save(writeState(state), this.#standing(state));
  }

  #standing({ best, history }: State): PromptSearchStanding {
    return { best, history, ...this.#budget.used, exampleTasks: this.#examples.tasks };
  }

  async #begin(): Promise<State> {
    this.#budget.assertAllowsBaseline(this.#context.validationTasks);
    const origin = { version: 'v0', prompts: this.#context.initial, parents: [] };
    const best = await this.#judge(origin, { tasks: this.#allValidationTasks(), occasion: 'begin' });
    this.#context.onCandidate?.(best);
    const examples = this.#examples.state([best]);
    const state: State = {
      search: 'apo',
      round: 0,
      used: this.#budget.used,
      beam: [best],
      best,
      history: [best],
      examples,
    };
    await this.#save(state);
    return state;
  }

  async #round(state: State, count: number): Promise<State> {
    const children = await this.#children(state, count);
    const random = randomForPosition(this.#context.seed, state.round, 1);
    const tasks = sampleTasks(random, this.#settings.validationTasks, { from: this.#context.validationTasks });
    const occasion = `round-${state.round + 1}/compare`;
    const judged = await Promise.all([...state.beam, ...children].map((one) => this.#judge(one, { tasks, occasion })));
    for (const child of judged.slice(state.beam.length)) this.#context.onCandidate?.(child);
    const beam = judged.toSorted(byScore).slice(0, this.#settings.beamWidth);
    const best = await this.#better(state, beam[0]);
    const history = [...state.history, ...judged.slice(state.beam.length)];
    return {
      search: 'apo',
      round: state.round + 1,
      used: this.#budget.used,
      beam,
      best,
      history: history.map((one) => (one.version === best.version ? best : one)),
      examples: this.#examples.state(history),
    };
  }

  /** Evaluates the best version of a round on all validation tasks and returns the better of it and the best so far. */
  async #better({ best, round }: State, leader: JudgedPrompts | undefined): Promise<JudgedPrompts> {
    if (leader === undefined || leader.version === best.version) return best;
    const tasks = this.#allValidationTasks();
    const isOnAll = this.#settings.validationTasks >= tasks.length;
    const judged = isOnAll ? leader : await this.#judge(leader, { tasks, occasion: `round-${round + 1}/leader` });
    return byScore(best, judged) > 0 ? judged : best;
  }

  async #children(state: State, count: number): Promise<readonly Unjudged[]> {
    const branches = Array.from({ length: count }, (_, branch) => branch);
    const occasions = branches.map((branch) => `round-${state.round + 1}/branch-${branch + 1}`);
    const isRewritten = (branch: number): boolean => !this.#examples.isExamples(this.#nameOf(state, branch));
    const optimizers = this.#budget.optimizersFor(occasions, requestsPerVersion, isRewritten);
    const known = new Set(state.history.map(({ prompts }) => textOf(prompts)));
    const isKnown = (prompts: PromptSet): boolean => known.has(textOf(prompts));
    const made = await Promise.all(
      branches.map(async (branch) => {
        // In a beam that is not full yet, some members have more branches.
        const parent = state.beam[branch % state.beam.length];
        const name = this.#nameOf(state, branch);
        const optimizer = optimizers[branch];
        const occasion = occasions[branch];
        if (parent === undefined || optimizer === undefined || occasion === undefined) return null;
        const random = randomForPosition(this.#context.seed, state.round, 0, branch);
        const tasks = sampleTasks(random, this.#settings.criticismTasks, { from: this.#context.trainTasks });
        const tried = await this.#budget.try({ prompts: parent.prompts, split: 'train', tasks, occasion });
        const prompts = isRewritten(branch)
          ? await this.#rewritten(parent.prompts, { name, tried, optimizer, isKnown })
          : null;
        return { name, parent, prompts, random, tried };
      }),
    );
    // In the order of the branches, which run concurrently.
    for (const one of made) this.#examples.add(one?.tried ?? []);
    const children: Unjudged[] = [];
    for (const one of made) {
      if (one === null) continue;
      const { name, parent, random } = one;
      const prompts = this.#examples.isExamples(name)
        ? this.#examples.draw({ prompts: parent.prompts, name, random, excluded: [], isKnown })
        : one.prompts;
      // Branches may return equal prompts, which are evaluated once.
      if (prompts === null || isKnown(prompts)) continue;
      known.add(textOf(prompts));
      children.push({ prompts, parents: [parent.version], version: `v${state.history.length + children.length}` });
    }
    return children;
  }

  /** The prompts are changed in turn. */
  #nameOf({ round, beam }: State, branch: number): string {
    const names = Object.keys(this.#context.initial);
    return names[(round + Math.floor(branch / beam.length)) % names.length] ?? '';
  }

  async #rewritten(prompts: PromptSet, { name, tried, optimizer, isKnown }: Branch): Promise<PromptSet | null> {
    const { temperature } = this.#settings;
    const subject = subjectOf(this.#context, name, prompts);
    const criticism = await optimizer.complete(criticismMessages(subject, transcriptsText(tried)), temperature);
    if (criticism === null) return null;
    const messages = rewriteMessages(subject, criticism);
    return await rewritePrompt(optimizer, { prompts, name, messages, temperature, isKnown });
  }

  async #judge(
    { version, prompts, parents }: Unjudged,
    { tasks, occasion }: { readonly tasks: readonly number[]; readonly occasion: string },
  ): Promise<JudgedPrompts> {
    const trial = { prompts, split: 'validation', tasks, occasion: `${occasion}/${version}` } as const;
    const tried = await this.#budget.try(trial);
    const taskScores = Array.from({ length: this.#context.validationTasks }, (): number | null => null);
    for (const { task, reward } of tried) taskScores[task] = reward;
    const scoredTasks = taskScores.filter((score) => score !== null).length;
    const score = meanScore(taskScores);
    return { version, prompts, parents, score, scoredTasks, taskScores, ...this.#examples.chosenIn(prompts) };
  }

  /** The number of branches in the next round: the last one has fewer, so that the budget is used up. */
  #affordableBranches(state: State): number {
    const { beam } = state;
    const { beamWidth, branchFactor, criticismTasks, validationTasks } = this.#settings;
    const { trainTasks, validationTasks: all } = this.#context;
    return this.#budget.affordableBranches(beamWidth * branchFactor, (branches) => {
      const compared = (beam.length + branches) * Math.min(validationTasks, all);
      return {
        rollouts: branches * Math.min(criticismTasks, trainTasks) + compared + all,
        // Two requests are the minimum for a rewritten version; corrections use the remaining budget.
        optimizerCalls:
          2 *
          Array.from({ length: branches }, (_, branch) => this.#nameOf(state, branch)).filter(
            (name) => !this.#examples.isExamples(name),
          ).length,
      };
    });
  }

  #allValidationTasks(): readonly number[] {
    return Array.from({ length: this.#context.validationTasks }, (_, task) => task);
  }
}

/** Inputs of a new version. */
interface Branch {
  /** The prompt to rewrite. */
  readonly name: string;
  /** The rollouts whose transcripts are criticised. */
  readonly tried: readonly TriedTask[];
  readonly optimizer: LimitedOptimizer;
  readonly isKnown: (prompts: PromptSet) => boolean;
}

type Unjudged = Pick<JudgedPrompts, 'version' | 'prompts' | 'parents'>;

/** Canonical text of a set of prompts. */
function textOf(prompts: PromptSet): string {
  return JSON.stringify(Object.keys(prompts).map((name) => prompts[name]?.template));
}

/** Descending by score; versions without a score last. */
function byScore(one: JudgedPrompts, other: JudgedPrompts): number {
  return (other.score ?? Number.NEGATIVE_INFINITY) - (one.score ?? Number.NEGATIVE_INFINITY) || 0;
}
