import { z } from 'zod';
import { accountsText } from './accounts.ts';
import { type ApoOptions, parseApoOptions } from './apo-options.ts';
import { drawFor, drawTasks } from './draw.ts';
import { judgedTasks, meanReward } from './mean-reward.ts';
import { replyFormat } from './optimizer-replies.ts';
import type {
  JudgedPrompts,
  PromptSearch,
  PromptSearchContext,
  PromptSearchResult,
  PromptSet,
} from './prompt-search.ts';
import { rewritePrompt } from './rewrite-prompt.ts';
import { RolloutBudget } from './rollout-budget.ts';
import { promptSetSchema, readState, writeState } from './search-state.ts';

/**
 * Automatic prompt optimisation by criticism and choice: prompts are tried on a few tasks, a model says in words what is
 * wrong with them (a "textual gradient"), rewrites them accordingly, and the best versions go on to the next round (a beam).
 *
 * ProTeGi: Pryzant et al., arXiv 2305.03495, and APO of Agent Lightning. Beyond these: all versions of a round are made
 * and tried at the same time, sets of several prompts are rewritten in turn, variables of templates are kept, a task that
 * nobody judged is left out instead of counting as 0, and a search that is killed goes on from its last round.
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
  return { name: 'apo', run: async (context) => await new Apo(context, settings).run() };
}

type State = z.infer<typeof stateSchema>;

const judgedSchema: z.ZodType<JudgedPrompts> = z.object({
  version: z.string(),
  prompts: promptSetSchema,
  parents: z.array(z.string()),
  score: z.number().nullable(),
  scoredTasks: z.int(),
});

const stateSchema = z.object({
  search: z.literal('apo'),
  round: z.int(),
  rollouts: z.int(),
  beam: z.array(judgedSchema),
  best: judgedSchema,
  history: z.array(judgedSchema),
});

class Apo {
  readonly #context: PromptSearchContext;
  readonly #settings: Required<ApoOptions>;
  readonly #budget: RolloutBudget;
  #state: State | null;

  constructor(context: PromptSearchContext, settings: Required<ApoOptions>) {
    this.#context = context;
    this.#settings = settings;
    this.#state = context.saved === null ? null : readState(stateSchema, context.saved, 'apo');
    this.#budget = new RolloutBudget(context, settings.maxRollouts, this.#state?.rollouts ?? 0);
  }

  async run(): Promise<PromptSearchResult> {
    let state = this.#state ?? (await this.#begin());
    while (state.round < this.#settings.rounds && this.#budget.hasRoomFor(this.#costOfRound(state))) {
      state = await this.#round(state);
      await this.#context.save(writeState(state));
    }
    const isFinished = state.round >= this.#settings.rounds;
    const { best, history } = state;
    const ended = isFinished ? 'finished' : this.#budget.isStopped ? 'stopped' : 'budget';
    return { best, history, rollouts: this.#budget.used, ended };
  }

  async #begin(): Promise<State> {
    const origin = { version: 'v0', prompts: this.#context.initial, parents: [] };
    const best = await this.#judge(origin, this.#allValidationTasks());
    this.#context.onCandidate?.(best);
    const state: State = { search: 'apo', round: 0, rollouts: this.#budget.used, beam: [best], best, history: [best] };
    await this.#context.save(writeState(state));
    return state;
  }

  async #round(state: State): Promise<State> {
    const children = await this.#children(state);
    const random = drawFor(this.#context.seed, state.round, 1);
    const tasks = drawTasks(random, this.#settings.validationTasks, this.#context.validationTasks);
    const judged = await Promise.all([...state.beam, ...children].map((one) => this.#judge(one, tasks)));
    for (const child of judged.slice(state.beam.length)) this.#context.onCandidate?.(child);
    const beam = judged.toSorted(byScore).slice(0, this.#settings.beamWidth);
    const best = await this.#better(state.best, beam[0]);
    return {
      search: 'apo',
      round: state.round + 1,
      rollouts: this.#budget.used,
      beam,
      best,
      history: [...state.history, ...judged.slice(state.beam.length)],
    };
  }

  /** A leader of a round was compared on some tasks only; the best of the search is on all. */
  async #better(best: JudgedPrompts, leader: JudgedPrompts | undefined): Promise<JudgedPrompts> {
    if (leader === undefined || leader.version === best.version) return best;
    const tasks = this.#allValidationTasks();
    const judged = leader.scoredTasks === tasks.length ? leader : await this.#judge(leader, tasks);
    return byScore(best, judged) > 0 ? judged : best;
  }

  async #children(state: State): Promise<readonly Unjudged[]> {
    const { beamWidth, branchFactor } = this.#settings;
    const names = Object.keys(this.#context.initial);
    const branches = Array.from({ length: beamWidth * branchFactor }, (_, branch) => branch);
    const made = await Promise.all(
      branches.map(async (branch) => {
        // A beam that is not full yet gives some of its members more branches.
        const parent = state.beam[branch % state.beam.length];
        const name = names[(state.round + Math.floor(branch / state.beam.length)) % names.length];
        if (parent === undefined || name === undefined) return null;
        const prompts = await this.#rewritten(parent.prompts, name, [state.round, 0, branch]);
        return prompts === null ? null : { prompts, parents: [parent.version] };
      }),
    );
    return made
      .filter((child) => child !== null)
      .map((child, index) => ({ ...child, version: `v${state.history.length + index}` }));
  }

  async #rewritten(prompts: PromptSet, name: string, place: readonly number[]): Promise<PromptSet | null> {
    const { criticismTasks, temperature } = this.#settings;
    const random = drawFor(this.#context.seed, ...place);
    const tried = await this.#budget.try(prompts, 'train', drawTasks(random, criticismTasks, this.#context.trainTasks));
    const prompt = prompts[name]?.template ?? '';
    const criticism = await this.#context.ask(criticismMessages(name, prompt, accountsText(tried)), { temperature });
    const messages = rewriteMessages(name, prompt, criticism);
    return await rewritePrompt(this.#context, { prompts, name, messages, temperature });
  }

  async #judge(one: Unjudged, tasks: readonly number[]): Promise<JudgedPrompts> {
    const tried = await this.#budget.try(one.prompts, 'validation', tasks);
    const { version, prompts, parents } = one;
    return { version, prompts, parents, score: meanReward(tried), scoredTasks: judgedTasks(tried) };
  }

  #costOfRound({ beam }: State): number {
    const { beamWidth, branchFactor, criticismTasks, validationTasks } = this.#settings;
    const children = beamWidth * branchFactor;
    const { trainTasks, validationTasks: all } = this.#context;
    const compared = (beam.length + children) * Math.min(validationTasks, all);
    return children * Math.min(criticismTasks, trainTasks) + compared + all;
  }

  #allValidationTasks(): readonly number[] {
    return Array.from({ length: this.#context.validationTasks }, (_, task) => task);
  }
}

type Unjudged = Pick<JudgedPrompts, 'version' | 'prompts' | 'parents'>;

/** The best first; one that nobody judged last. */
function byScore(one: JudgedPrompts, other: JudgedPrompts): number {
  return (other.score ?? Number.NEGATIVE_INFINITY) - (one.score ?? Number.NEGATIVE_INFINITY) || 0;
}

function criticismMessages(
  name: string,
  prompt: string,
  accounts: string,
): { role: 'system' | 'user'; content: string }[] {
  return [
    {
      role: 'system',
      content:
        'You find out why an AI agent does badly. You look at its prompt and at what it did, and say what in the prompt is to blame.',
    },
    {
      role: 'user',
      content: `The prompt "${name}":\n\n${prompt}\n\nWhat the agent did with it:\n\n${accounts}\n\nSay in a few sentences what is missing in the prompt or wrong with it, the most harmful first. Say what to change, and do not rewrite it yet.`,
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
