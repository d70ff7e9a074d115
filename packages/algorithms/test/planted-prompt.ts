import type { JsonObject, PromptTemplateResource } from '@agentlightning/core';
import type {
  OptimizerMessage,
  PromptSearchContext,
  PromptSet,
  PromptTrial,
  SearchedPrompt,
  TriedTask,
} from '@agentlightning/core/algorithm';
import { seededRandom } from '../src/base/seeded-random.ts';

/** For tests: a world in which the best prompt is known. Each task is solved by a prompt that has its rule. */
export interface PlantedWorld extends PromptSearchContext {
  /** The share of all tasks that a set of prompts solves, without noise. */
  worth(prompts: PromptSet): number;
  /** Number of requests to the optimiser model. */
  asked(): number;
  /** Maximum number of concurrent calls of `tryTasks`. */
  mostAtOnce(): number;
  /** The trials, in the order they came. */
  readonly trials: readonly PromptTrial[];
  /** The trials and the questions, by occasion, in the order they came. */
  readonly occasions: readonly string[];
  /** What was saved, in order. */
  readonly saves: readonly JsonObject[];
}

/** What a planted world may differ in. */
export interface PlantedOptions {
  readonly seed?: number;
  /** Number of planted rules; tasks need them in turn. @default 6 */
  readonly rules?: number;
  /** The prompts, of which each rule belongs to one, in turn. @default one */
  readonly prompts?: readonly string[];
  /**
   * How the prompts are changed, by name. A task whose rule belongs to examples is solved with an example of the same rule, and
   * by chance.
   *
   * @default all are rewritten
   */
  readonly searched?: Readonly<Record<string, SearchedPrompt>>;
  /** The share of tasks that are solved by chance where an example is lacking. @default 0.4 */
  readonly luck?: number;
  /** Maximum error of a reward, in both directions. @default 0.2 */
  readonly noise?: number;
  /** `informed` writes the rule that a transcript misses; `random` any of a hundred. @default 'informed' */
  readonly optimizer?: 'informed' | 'random';
  /** Tasks without a score. @default none */
  readonly isUnjudged?: (task: number) => boolean;
  readonly saved?: JsonObject | null;
  /** Ends the search when so many states were saved. @default never */
  readonly stopAfterSaves?: number;
}

const tasks = { train: 24, validation: 24 };

/** A prompt with one variable. */
export function aPrompt(template: string = 'Answer {question}.'): PromptTemplateResource {
  return { resourceType: 'prompt_template', template, engine: 'f-string' };
}

/** Makes a planted world; the same options make the same one. */
export function plantedWorld(options: PlantedOptions = {}): PlantedWorld {
  const { seed = 1, rules = 6, prompts: names = ['answer'], noise = 0.2, optimizer = 'informed' } = options;
  const randomAt = (place: string): number => seededRandom(hashOf(`${seed}/${place}`))();
  const stop = new AbortController();
  const saves: JsonObject[] = [];
  const occasions: string[] = [];
  const counts = { asked: 0, now: 0, most: 0 };
  const ruleOf = (task: number): number => task % rules;
  const ownerOf = (rule: number): string => names[rule % names.length] ?? '';
  const { searched = {}, luck = 0.4 } = options;
  const isExamples = (name: string): boolean => searched[name]?.kind === 'examples';
  const examples = names.filter(isExamples);
  const hasRule = (prompts: PromptSet, rule: number): boolean =>
    prompts[ownerOf(rule)]?.template.includes(isExamples(ownerOf(rule)) ? `{{${rule}}}` : `RULE-${rule};`) === true;
  const trials: PromptTrial[] = [];
  const tryOne = ({ prompts, occasion }: PromptTrial, task: number): TriedTask => {
    const isLucky = isExamples(ownerOf(ruleOf(task))) && randomAt(`luck/${occasion}/${task}`) < luck;
    const isSolved = hasRule(prompts, ruleOf(task)) || isLucky;
    const reward = (isSolved ? 1 : 0) + noise * (2 * randomAt(`${occasion}/${task}`) - 1);
    const transcript = isSolved
      ? 'It went well.'
      : `It went badly: ${ownerOf(ruleOf(task))} lacks RULE-${ruleOf(task)};`;
    return {
      task,
      reward: options.isUnjudged?.(task) === true ? null : reward,
      transcript,
      rolloutId: `${occasion} ${task}`,
      ...(examples.length === 0
        ? {}
        : { examples: Object.fromEntries(examples.map((name) => [name, `Task ${task} of {${ruleOf(task)}}`])) }),
    };
  };
  return {
    initial: Object.fromEntries(names.map((name) => [name, aPrompt(isExamples(name) ? '' : undefined)])),
    searched,
    trials,
    trainTasks: tasks.train,
    validationTasks: tasks.validation,
    seed,
    saved: options.saved ?? null,
    saves,
    occasions,
    signal: stop.signal,
    tryTasks: async (trial) => {
      occasions.push(trial.occasion);
      trials.push(trial);
      counts.now += 1;
      counts.most = Math.max(counts.most, counts.now);
      await new Promise((resolve) => setImmediate(resolve));
      counts.now -= 1;
      return trial.tasks.map((task) => tryOne(trial, task));
    },
    complete: (messages, { occasion }) => {
      counts.asked += 1;
      occasions.push(occasion);
      const chance = randomAt(occasion);
      return Promise.resolve(optimizer === 'informed' ? informedReply(messages) : randomReply(messages, chance));
    },
    save: (state) => {
      saves.push(state);
      if (saves.length === options.stopAfterSaves) stop.abort();
      return Promise.resolve();
    },
    worth: (prompts) =>
      Array.from({ length: rules }, (_, rule) => hasRule(prompts, rule)).filter(Boolean).length / rules,
    asked: () => counts.asked,
    mostAtOnce: () => counts.most,
  };
}

/** A number of a text: FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}

/** Says what the transcripts say is lacking; asked for a prompt, adds the first of it that belongs there. */
function informedReply(messages: readonly OptimizerMessage[]): string {
  const text = messages.map(({ content }) => content).join('\n');
  const [, name = '', prompt = ''] =
    /The (?:prompt|description of the tool) "(\w+)":\n\n([\s\S]*?)\n\nWhat /.exec(text) ?? [];
  const lacking = [...text.matchAll(/(\w+) lacks (RULE-\d+;)/g)].filter(([, owner]) => owner === name);
  if (!text.includes('<prompt>')) return lacking.map(([said]) => said).join('\n') || 'Nothing is wrong.';
  const rule = lacking.map(([, , found = '']) => found).find((found) => !prompt.includes(found));
  return `<prompt>\n${prompt}${rule === undefined ? '' : `\n${rule}`}\n</prompt>`;
}

function randomReply(messages: readonly OptimizerMessage[], chance: number): string {
  const text = messages.map(({ content }) => content).join('\n');
  const prompt = /The prompt "\w+":\n\n([\s\S]*?)\n\nWhat /.exec(text)?.[1] ?? '';
  return text.includes('<prompt>')
    ? `<prompt>${prompt}\nRULE-${Math.floor(chance * 100)};</prompt>`
    : 'It could be better.';
}
