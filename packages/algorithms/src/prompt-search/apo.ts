import type {
  JudgedPrompts,
  PromptSearch,
  PromptSearchContext,
  PromptSearchResult,
  PromptSet,
} from '@agentlightning/core/algorithm';
import { z } from 'zod';
import { type ApoOptions, type ApoSettings, parseApoOptions } from './apo-options.ts';
import { replyFormat } from './optimizer-replies.ts';
import { corrections, rewritePrompt } from './rewrite-prompt.ts';
import { type LimitedOptimizer, SearchBudget, spentSchema } from './search-budget.ts';
import { judgedSchema, readState, writeState } from './search-state.ts';
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
  beam: z.array(judgedSchema),
  best: judgedSchema,
  history: z.array(judgedSchema),
});

/** Maximum number of requests per version: criticism, rewriting, corrections. */
const requestsPerVersion = 2 + corrections;

class Apo {
  readonly #context: PromptSearchContext;
  readonly #settings: ApoSettings;
  readonly #budget: SearchBudget;
  #state: State | null;

  constructor(context: PromptSearchContext, settings: ApoSettings) {
    this.#context = context;
    this.#settings = settings;
    this.#state = context.saved === null ? null : readState(stateSchema, context.saved, 'apo');
    this.#budget = new SearchBudget(context, settings, this.#state?.used ?? null);
  }

  async run(): Promise<PromptSearchResult> {
    let state = this.#state ?? (await this.#begin());
    while (!this.#isDone(state)) {
      const branches = this.#affordableBranches(state);
      if (branches === 0) break;
      state = await this.#round(state, branches);
      await this.#save(state);
    }
    const { best, history } = state;
    const ended = this.#isDone(state) ? 'finished' : this.#budget.end;
    return { best, history, ...this.#budget.used, ended };
  }

  #isDone({ round, best }: State): boolean {
    return round >= this.#settings.rounds || (best.score ?? -Infinity) >= this.#settings.stopAtScore;
  }

  async #save(state: State): Promise<void> {
    const { best, history } = state;
    await this.#context.save(writeState(state), { best, history, ...this.#budget.used });
  }

  async #begin(): Promise<State> {
    this.#budget.assertAllowsBaseline(this.#context.validationTasks);
    const origin = { version: 'v0', prompts: this.#context.initial, parents: [] };
    const best = await this.#judge(origin, { tasks: this.#allValidationTasks(), occasion: 'begin' });
    this.#context.onCandidate?.(best);
    const state: State = { search: 'apo', round: 0, used: this.#budget.used, beam: [best], best, history: [best] };
    await this.#save(state);
    return state;
  }

  async #round(state: State, count: number): Promise<State> {
    const children = await this.#children(state, count);
    const random = randomForPosition(this.#context.seed, state.round, 1);
    const tasks = sampleTasks(random, this.#settings.validationTasks, this.#context.validationTasks);
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
    const names = Object.keys(this.#context.initial);
    const branches = Array.from({ length: count }, (_, branch) => branch);
    const occasions = branches.map((branch) => `round-${state.round + 1}/branch-${branch + 1}`);
    const optimizers = this.#budget.optimizersFor(occasions, requestsPerVersion);
    const known = new Set(state.history.map(({ prompts }) => textOf(prompts)));
    const isKnown = (prompts: PromptSet): boolean => known.has(textOf(prompts));
    const made = await Promise.all(
      branches.map(async (branch) => {
        // In a beam that is not full yet, some members have more branches.
        const parent = state.beam[branch % state.beam.length];
        const name = names[(state.round + Math.floor(branch / state.beam.length)) % names.length];
        const optimizer = optimizers[branch];
        const occasion = occasions[branch];
        if (parent === undefined || name === undefined || optimizer === undefined || occasion === undefined)
          return null;
        const random = randomForPosition(this.#context.seed, state.round, 0, branch);
        const tasks = sampleTasks(random, this.#settings.criticismTasks, this.#context.trainTasks);
        const prompts = await this.#rewritten(parent.prompts, { name, occasion, tasks, optimizer, isKnown });
        return prompts === null ? null : { prompts, parents: [parent.version] };
      }),
    );
    return made
      .filter((child) => child !== null)
      .filter(({ prompts }) => {
        // Branches may return equal prompts, which are evaluated once.
        const isNew = !known.has(textOf(prompts));
        known.add(textOf(prompts));
        return isNew;
      })
      .map((child, index) => ({ ...child, version: `v${state.history.length + index}` }));
  }

  async #rewritten(prompts: PromptSet, branch: Branch): Promise<PromptSet | null> {
    const { name, occasion, tasks, optimizer, isKnown } = branch;
    const { temperature } = this.#settings;
    const tried = await this.#budget.try({ prompts, split: 'train', tasks, occasion });
    const prompt = prompts[name]?.template ?? '';
    const criticism = await optimizer.complete(criticismMessages(name, prompt, transcriptsText(tried)), temperature);
    if (criticism === null) return null;
    const messages = rewriteMessages(name, prompt, criticism);
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
    return { version, prompts, parents, score: meanScore(taskScores), scoredTasks, taskScores };
  }

  /** The number of branches in the next round: the last one has fewer, so that the budget is used up. */
  #affordableBranches({ beam }: State): number {
    const { beamWidth, branchFactor, criticismTasks, validationTasks } = this.#settings;
    const { trainTasks, validationTasks: all } = this.#context;
    return this.#budget.affordableBranches(beamWidth * branchFactor, (branches) => {
      const compared = (beam.length + branches) * Math.min(validationTasks, all);
      return {
        rollouts: branches * Math.min(criticismTasks, trainTasks) + compared + all,
        // Two requests are the minimum for a new version; corrections use the remaining budget.
        optimizerCalls: branches * 2,
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
  readonly occasion: string;
  /** The training tasks whose transcripts are criticised. */
  readonly tasks: readonly number[];
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

function criticismMessages(
  name: string,
  prompt: string,
  transcripts: string,
): { role: 'system' | 'user'; content: string }[] {
  return [
    {
      role: 'system',
      content:
        'You find out why an AI agent does badly. You look at its prompt and at what it did, and say what in the prompt is to blame.',
    },
    {
      role: 'user',
      content: `The prompt "${name}":\n\n${prompt}\n\nWhat the agent did with it:\n\n${transcripts}\n\nSay in a few sentences what is missing in the prompt or wrong with it, the most harmful first. Say what to change, and do not rewrite it yet.`,
    },
  ];
}

function rewriteMessages(
  name: string,
  prompt: string,
  criticism: string,
): { role: 'system' | 'user'; content: string }[] {
  return [
    { role: 'system', content: 'You rewrite prompts of AI agents so that the agents do better.' },
    {
      role: 'user',
      content: `The prompt "${name}":\n\n${prompt}\n\nWhat is wrong with it:\n\n${criticism}\n\nRewrite it.\n${replyFormat}`,
    },
  ];
}
