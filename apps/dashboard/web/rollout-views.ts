import { choiceValue, definedValues, type SearchValues, textValue } from './search-values.ts';

/** The views of an attempt. */
export const rolloutViews = ['messages', 'trace', 'tokens', 'raw', 'replay', 'task'] as const;

/** One of {@link rolloutViews}. */
export type RolloutViewName = (typeof rolloutViews)[number];

/** The labels of the views. */
export const viewLabels: Readonly<Record<RolloutViewName, string>> = {
  messages: 'Messages',
  trace: 'Trace',
  tokens: 'Tokens',
  raw: 'Raw requests',
  replay: 'Replay',
  task: 'Task',
};

/** What can colour the tokens. */
export const tokenColors = ['logprob', 'advantage', 'mask', 'gap', 'ratio', 'version'] as const;

/** One of {@link tokenColors}. */
export type TokenColor = (typeof tokenColors)[number];

/** The state of a rollout's page, as in the URL. */
export interface RolloutSearch {
  readonly view?: RolloutViewName | undefined;
  readonly attempt?: string | undefined;
  /** The model call of the token view and the raw view. */
  readonly call?: string | undefined;
  /** The run whose rollouts are labelled one after another. */
  readonly queue?: string | undefined;
  /** Whether the trace is shown as a graph of agents; a tree with a waterfall by default. */
  readonly layout?: 'graph' | undefined;
  /** What colours the tokens. */
  readonly color?: TokenColor | undefined;
}

/** Reads the state from the URL; invalid values are ignored. */
export function rolloutSearch(values: SearchValues): RolloutSearch {
  return definedValues({
    view: choiceValue(rolloutViews, values['view']),
    attempt: textValue(values['attempt']),
    call: textValue(values['call']),
    queue: textValue(values['queue']),
    layout: choiceValue(['graph'], values['layout']),
    color: choiceValue(tokenColors, values['color']),
  });
}
